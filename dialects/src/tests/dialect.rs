//! The dialect `test`: one op for each feature of formats.

use crate::declaration::{
    AnyAttribute, AnyRegion, AnyType, Dialect, Flag, Integer, Integers, Keyword, KeywordSet, Maybe, OneBlock,
    Op, Optional, Symbol, SymbolName, Text, TypeRule, TypeValue, Variadic, WithNotation,
};
use crate::ipu::TileSet;
use crate::ir::{Attribute, OpId, Type};
use crate::lexer::TokenKind;
use crate::parser::{EntryArgument, OpSyntax, ParseResult, Parser};
use crate::printer::Printer;

/// Values of type `index`, never written.
pub(crate) struct OnlyIndex;

impl TypeRule for OnlyIndex {
    const DESCRIPTION: &'static str = "an index";
    const ONLY: Option<fn() -> Type> = Some(Type::index);
    fn accepts(ty: &Type) -> bool {
        *ty == Type::index()
    }
}

pub(crate) struct Colours;

impl KeywordSet for Colours {
    const WHAT: &'static str = "colour";
    const WORDS: &'static [&'static str] = &["red", "green"];
}

fn parse_counted(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    let operand = parser.parse_operand()?;
    parser.expect_word("as")?;
    let name = parser.parse_operand()?;
    let (name, span) = (name.name, name.span);
    op.entry_arguments.push(EntryArgument { name, span, ty: Type::index(), location: None });
    op.add_operand("count", operand);
    Ok(())
}

fn print_counted(printer: &mut Printer<'_>, op: OpId) {
    let module = printer.module();
    printer.space();
    printer.operand(Counted::wrap(op).count(module));
    printer.word("as ");
    for &argument in module.entry_block(op, 0).map_or(&[][..], |block| module.arguments(block)) {
        printer.operand(argument);
    }
    printer.entry_arguments_printed = true;
}

fn parse_tag(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    parser.expect(TokenKind::Bar, "`|`")?;
    let tag: i64 = parser.parse_integer("a tag")?;
    op.set_attribute("tag", Attribute::i64(tag));
    Ok(())
}

fn print_tag(printer: &mut Printer<'_>, op: OpId) {
    let tag = printer.module().attribute(op, "tag").and_then(Attribute::as_i64).unwrap_or(0);
    printer.word("|");
    printer.display(format_args!(" {tag}"));
}

crate::operations! {
    /// Gives values of any types.
    Make = "test.make", "values from nothing" {
        results { values: Variadic<AnyType> }
        format "attr-dict (`:` type($values)^)?"
    }

    /// Gives an index.
    Index = "test.index", "an index" {
        results { value: OnlyIndex }
        attributes { value_is: Integer }
        format "$value_is attr-dict"
    }

    /// Takes anything.
    Take = "test.take", "a user of values" {
        operands { values: Variadic<AnyType> }
        format "$values attr-dict"
    }

    /// Copies a value; the result has its type.
    Same = "test.same", "a copy" {
        operands { value: AnyType }
        results { copy: AnyType }
        traits [Pure, SameType]
        format "$value attr-dict"
    }

    /// Two groups of operands that vary.
    Groups = "test.groups", "two groups of operands" {
        operands { first: Variadic<AnyType>, second: Optional<OnlyIndex>, last: OnlyIndex }
        results { sum: AnyType }
        format "`[` $first `]` (`plus` $second^)? `to` $last attr-dict `:` functional-type"
    }

    /// Every notation of attributes.
    Notations = "test.notations", "every notation of attributes" {
        attributes {
            sym_name: Maybe<SymbolName>, tiles: Maybe<WithNotation<TileSet>>, colour: Maybe<Keyword<Colours>>,
            sizes: Maybe<Integers>, target: Maybe<Symbol>, label: Maybe<Text>, ty: Maybe<TypeValue>, fast: Flag,
            any: Maybe<AnyAttribute>, tag: Maybe<Integer>
        }
        traits [Symbol]
        format "($sym_name^)? (`on` $tiles^)? (`colour` $colour^)? (`sizes` $sizes^)? (`of` $target^)? (`label` $label^) : (`unlabelled`)? (`type` `(` $ty^ `)`)? (`fast` $fast^)? (`any` `=` $any^)? attr-dict"
    }

    /// A hook that gives the entry argument of a region.
    Counted = "test.counted", "a counted region" {
        operands { count: OnlyIndex }
        regions { body: OneBlock }
        traits [NoTerminator]
        format "custom<Counted> attr-dict-with-keyword $body"
        hooks { "Counted": [] parse_counted, print_counted }
    }

    /// A hook with an attribute of its own.
    Tagged = "test.tagged", "a tag" {
        attributes { tag: Integer }
        format "custom<Tag> attr-dict"
        hooks { "Tag": ["tag"] parse_tag, print_tag }
    }

    /// Two regions, the second optional.
    Choice = "test.choice", "two regions" {
        regions { then: AnyRegion, otherwise: AnyRegion }
        traits [NoTerminator]
        format "$then (`else` $otherwise^)? attr-dict"
    }

    /// A table of symbols.
    Table = "test.table", "a symbol table" {
        attributes { sym_name: SymbolName }
        regions { body: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator]
        format "$sym_name attr-dict-with-keyword $body"
    }

    /// Blocks with terminators.
    Flow = "test.flow", "a region of blocks" {
        regions { body: AnyRegion }
        format "$body attr-dict"
    }

    /// Leads to a block.
    Jump = "test.jump", "leads to a block" {
        successors { target }
        traits [Terminator]
        format "$target attr-dict"
    }

    /// Leads nowhere.
    Stop = "test.stop", "ends a region" {
        traits [Terminator]
        format "attr-dict"
    }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "test",
    summary: "one op for each feature of formats",
    description: "",
    ops: &[
        Make::DECLARATION,
        Index::DECLARATION,
        Take::DECLARATION,
        Same::DECLARATION,
        Groups::DECLARATION,
        Notations::DECLARATION,
        Counted::DECLARATION,
        Tagged::DECLARATION,
        Choice::DECLARATION,
        Table::DECLARATION,
        Flow::DECLARATION,
        Jump::DECLARATION,
        Stop::DECLARATION,
    ],
    types: &[],
    attributes: &[],
};
