//! Hooks: the parts of ops whose text is no list of attributes.

use super::index::{Index, MemberSlice, parse_family, print_family};
use super::members::{CopyFamily, MoveFamily, RunFamily, RunTiles, parse_indices, print_indices};
use super::ops::{BufferOp, CopyOp, MemoryClasses, RunOp};
use crate::codes::ParseCode;
use crate::declaration::{AttributeRule, KeywordSet, Op, Symbol};
use crate::ir::{Attribute, Module, OpId};
use crate::lexer::TokenKind;
use crate::parser::{OpSyntax, ParseResult, Parser};
use crate::printer::Printer;

// Buffers.

/// `{memory = standard, align = 32, tail = 8}`; `memory` and `align` have defaults.
pub(super) fn parse_storage(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    let span = parser.span();
    parser.parse_list(TokenKind::LeftBrace, TokenKind::RightBrace, |parser| {
        let span = parser.span();
        let key = ["memory", "align", "tail"]
            [parser.parse_one_of(&["memory", "align", "tail"], "key of a buffer")?];
        if op.attribute(key).is_some() {
            return parser.error(ParseCode::DuplicateAttribute, span, format!("`{key}` is given twice"));
        }
        parser.expect(TokenKind::Equal, "`=`")?;
        let value = if key == "memory" {
            let word = parser.parse_one_of(MemoryClasses::WORDS, MemoryClasses::WHAT)?;
            Attribute::string(MemoryClasses::WORDS[word])
        } else {
            let literal = parser.parse_integer_literal()?;
            parser.integer_attribute(literal)?
        };
        op.set_attribute(key, value);
        Ok(())
    })?;
    for key in ["memory", "align"] {
        if op.attribute(key).is_none() {
            let span = parser.span_since(span);
            return parser.error(ParseCode::Unexpected, span, format!("a buffer needs `{key}`"));
        }
    }
    Ok(())
}

pub(super) fn print_storage(printer: &mut Printer<'_>, op: OpId) {
    let module = printer.module();
    printer.word("{memory = ");
    printer.text(BufferOp::wrap(op).memory(module));
    for (key, text) in [("align", ", align = "), ("tail", ", tail = ")] {
        if let Some(value) = module.attribute(op, key) {
            printer.text(text);
            printer.plain_integer(value);
        }
    }
    printer.text("}");
}

// Host moves.

/// `once (t) in (4) on t bytes [0 : +256] image [256*t : +256]`
pub(super) fn parse_moves(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    if parser.eat_word("once") {
        op.set_attribute("once", Attribute::unit());
    }
    let family = parse_family(parser)?;
    parser.expect_word("on")?;
    let on = Index::parse(parser, &family.ids)?;
    let in_part = parser.eat_word("bytes");
    let slice = if in_part { Some(MemberSlice::parse(parser, &family.ids)?) } else { None };
    parser.expect_word("image")?;
    let image = MemberSlice::parse(parser, &family.ids)?;
    op.set_attribute("family", Attribute::dialect(MoveFamily { family, on, slice, image }));
    Ok(())
}

pub(super) fn print_moves(printer: &mut Printer<'_>, op: OpId) {
    let module = printer.module();
    if module.attribute(op, "once").is_some() {
        printer.word("once");
    }
    let Some(members) = module.attribute(op, "family").and_then(Attribute::dialect_value::<MoveFamily>)
    else {
        return;
    };
    printer.space();
    let ids = &members.family.ids;
    if print_family(&members.family, printer) {
        printer.text(" ");
    }
    printer.text("on ");
    members.on.print(printer, ids);
    if let Some(slice) = &members.slice {
        printer.text(" bytes ");
        slice.print(printer, ids);
    }
    printer.text(" image ");
    members.image.print(printer, ids);
}

// Copies.

/// `(m, q) in (2, 2) : %a[512*q : +512] from 2*m + q to [2*m] into %b[256*q : +256, 512 + 256*q : +256]`
pub(super) fn parse_copy(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    let family = parse_family(parser)?;
    let ids = &family.ids.clone();
    if !ids.is_empty() {
        parser.expect(TokenKind::Colon, "`:`")?;
    }
    let operand = parser.parse_operand()?;
    op.add_operand("source", operand);
    let source = MemberSlice::parse(parser, ids)?;
    parser.expect_word("from")?;
    let from = Index::parse(parser, ids)?;
    parser.expect_word("to")?;
    let to = parse_indices(parser, ids)?;
    parser.expect_word("into")?;
    let operand = parser.parse_operand()?;
    op.add_operand("destination", operand);
    let into = MemberSlice::parse_list(parser, ids)?;
    op.set_attribute("family", Attribute::dialect(CopyFamily { family, source, from, to, into }));
    Ok(())
}

pub(super) fn print_copy(printer: &mut Printer<'_>, op: OpId) {
    let (module, copy) = (printer.module(), CopyOp::wrap(op));
    let CopyFamily { family, source, from, to, into } = copy.family(module);
    let ids = &family.ids;
    printer.space();
    if print_family(family, printer) {
        printer.text(" : ");
    }
    printer.operand(copy.source(module));
    source.print(printer, ids);
    printer.text(" from ");
    from.print(printer, ids);
    printer.text(" to ");
    print_indices(to, printer, ids);
    printer.text(" into ");
    printer.operand(copy.destination(module));
    MemberSlice::print_list(into, printer, ids);
}

// Kernel calls.

/// `(m, q) in (2, 2) on 2*m + q : @kernel(%out, %in[512*q : +512]) {elements = 128}`
pub(super) fn parse_run(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    let tiles = RunTiles::parse(parser)?;
    parser.expect(TokenKind::Colon, "`:`")?;
    if !Symbol::starts(parser) {
        return parser.unexpected("a kernel such as `@reduce_add_f16`");
    }
    op.set_attribute("kernel", Symbol::parse(parser)?);
    let slices = parser.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
        let operand = parser.parse_operand()?;
        op.add_operand("operands", operand);
        let part = parser.at(TokenKind::LeftSquare);
        if part { MemberSlice::parse(parser, tiles.ids()).map(Some) } else { Ok(None) }
    })?;
    if parser.at(TokenKind::LeftBrace) {
        let scalars = parser.parse_attribute_dictionary()?;
        op.set_attribute("scalars", Attribute::dictionary(scalars));
    }
    op.set_attribute("family", Attribute::dialect(RunFamily { tiles, slices }));
    Ok(())
}

/// Each operand stands with its slice.
pub(super) fn says_run(module: &Module, op: OpId) -> bool {
    let run = RunOp::wrap(op);
    run.family(module).slices.len() == run.operands(module).len()
}

pub(super) fn print_run(printer: &mut Printer<'_>, op: OpId) {
    let (module, run) = (printer.module(), RunOp::wrap(op));
    let RunFamily { tiles, slices } = run.family(module);
    printer.space();
    tiles.print(printer);
    printer.text(" : ");
    printer.symbol_ref(run.kernel(module));
    printer.text("(");
    let operands = run.operands(module).iter().zip(slices);
    printer.list(operands, ", ", |printer, (&operand, slice)| {
        printer.operand(operand);
        if let Some(slice) = slice {
            slice.print(printer, tiles.ids());
        }
    });
    printer.text(")");
    if let Some(scalars) = run.scalars(module) {
        printer.text(" ");
        printer.dictionary(scalars);
    }
}
