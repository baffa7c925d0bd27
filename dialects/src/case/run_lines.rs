//! `// run:` lines: calls with values, and what must come of them.
//!
//! ```text
//! line  ::= `// run:` symbol `(` (value (`,` value)*)? `)` (`==` | `~=`) value (`,` value)*
//! value ::= `dense<` elements `>` (`:` type)? | any other attribute that `ipu.data` takes
//! ```
//!
//! The comment stands on a line of its own, anywhere in the file. `==` wants the same bits, of a NaN only that it is one; `~=` wants
//! what `ipu.tolerance` of the result allows. Values correspond to arguments and results by position, and `dense` without a type has
//! that of its argument or result.

use std::ops::Range;

use super::parts::{Part, part_data, parts_of};
use super::{Case, Resources};
use crate::codes::VerifyCode;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::graph::meaning::MeaningCode;
use crate::ir::{Module, OpId, SymbolTable};
use crate::lexer::TokenKind;
use crate::parser::{ParseOptions, ParseResult, Parser, parse_whole_part};
use crate::source::Span;
use crate::tensor_data::TensorData;

/// How a result is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`: bit for bit, any NaN equal to any NaN.
    Bits,
    /// `~=`: within the tolerance of the result.
    Tolerance,
}

/// One line.
#[derive(Debug, Clone)]
pub struct RunLine {
    /// The call, from its symbol to its closing parenthesis.
    pub span: Span,
    /// The function or program that is called.
    pub symbol: String,
    /// What enters, in order.
    pub arguments: Vec<TensorData>,
    /// How results are compared.
    pub comparison: Comparison,
    /// What must leave, in order.
    pub expected: Vec<TensorData>,
    /// Where each of them is written.
    pub places: Vec<Span>,
}

impl RunLine {
    /// The lines of the text that a verified module was read from.
    ///
    /// # Errors
    /// A line that is none, calls what cannot be called, or gives values that do not suit.
    pub fn read_all(
        module: &Module,
        options: ParseOptions<'_>,
        resources: &dyn Resources,
    ) -> Result<Vec<Self>, Diagnostics> {
        let mut lines = Vec::new();
        let mut findings = Diagnostics::new();
        for (file, source) in module.sources.files() {
            for part in parts_of_text(&source.text) {
                let rule = |parser: &mut Parser<'_>| parse(parser, module, resources);
                match parse_whole_part(module.sources.clone(), file, part, options, rule) {
                    Ok(line) => lines.push(line),
                    Err(failed) => findings.append(failed.1),
                }
            }
        }
        if findings.is_empty() { Ok(lines) } else { Err(findings) }
    }

    /// The case that the line is in `module`, which may be a later form of the program; nothing if it has no such call.
    #[must_use]
    pub fn case(&self, module: &Module) -> Option<Case> {
        let entry = SymbolTable::of(module, module.root()).get(&self.symbol)?;
        Case::of_call(module, entry, &self.arguments, &self.expected)
    }
}

/// The bytes of `text` behind each `// run:`, to the end of the line.
fn parts_of_text(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let comment = line.trim_start().strip_prefix("//").map(str::trim_start);
        if let Some(call) = comment.and_then(|comment| comment.strip_prefix("run:")) {
            parts.push(end - call.len()..end);
        }
    }
    parts
}

fn parse(parser: &mut Parser<'_>, module: &Module, resources: &dyn Resources) -> ParseResult<RunLine> {
    let start = parser.span();
    let symbol = parser.parse_symbol_name()?.into_owned();
    let name = parser.span_since(start);
    let Some(entry) = SymbolTable::of(module, module.root()).get(&symbol) else {
        return parser.report(unknown(module, &symbol, name));
    };
    let Some((_, inputs, outputs)) = parts_of(module, entry) else {
        let message =
            format!("`{}` is neither a function nor a program, so it cannot be run", module.name(entry));
        return parser.error(MeaningCode::Arguments, name, message);
    };
    let values = Values { module, entry, resources };
    let mut arguments = Vec::new();
    parser.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
        arguments.push(values.parse(parser, inputs.get(arguments.len()))?.0);
        Ok(())
    })?;
    let span = parser.span_since(start);
    values.expect_all(parser, &inputs, arguments.len(), span)?;
    let comparison = match parser.peek_text() {
        "=" => Comparison::Bits,
        "~" => Comparison::Tolerance,
        _ => return parser.unexpected("`==` or `~=`"),
    };
    parser.advance();
    parser.expect(TokenKind::Equal, "`==` or `~=`")?;
    let (mut expected, mut places) = (Vec::new(), Vec::new());
    loop {
        let (data, place) = values.parse(parser, outputs.get(expected.len()))?;
        expected.push(data);
        places.push(place);
        if !parser.eat(TokenKind::Comma) {
            break;
        }
    }
    values.expect_all(parser, &outputs, expected.len(), span)?;
    Ok(RunLine { span, symbol, arguments, comparison, expected, places })
}

fn unknown(module: &Module, symbol: &str, place: Span) -> Diagnostic {
    let names = module.direct_children(module.root()).filter_map(|op| module.symbol_name(op));
    let error =
        Diagnostic::error(VerifyCode::UnknownSymbol, place, format!("the file has no `@{symbol}` to run"));
    match crate::spelling::nearest(symbol, names) {
        Some(near) => error.fix(place, format!("@{near}"), format!("did you mean `@{near}`?")),
        None => error,
    }
}

/// The values of a line that calls `entry`.
struct Values<'m> {
    module: &'m Module,
    entry: OpId,
    resources: &'m dyn Resources,
}

impl Values<'_> {
    /// A value for `part`, and its place.
    fn parse(&self, parser: &mut Parser<'_>, part: Option<&Part<'_>>) -> ParseResult<(TensorData, Span)> {
        let start = parser.span();
        let Some(part) = part else {
            let message = format!("`{}` has no tensor for this value", self.shown());
            return parser.error(MeaningCode::Arguments, start, message);
        };
        let value = parser.parse_attribute_of(part.ty)?;
        let place = parser.span_since(start);
        match part_data(self.module, part, &value, self.resources) {
            Ok(data) => Ok((data, place)),
            Err(message) => parser.error(MeaningCode::Data, place, format!("`{}`: {message}", part.name)),
        }
    }

    /// That `given` values are all that `parts` want.
    fn expect_all(
        &self,
        parser: &mut Parser<'_>,
        parts: &[Part<'_>],
        given: usize,
        place: Span,
    ) -> ParseResult<()> {
        let Some(missing) = parts.get(given) else { return Ok(()) };
        let message = format!("`{}` wants a value for `{}`, a `{}`", self.shown(), missing.name, missing.ty);
        parser.error(MeaningCode::Arguments, place, message)
    }

    fn shown(&self) -> String {
        format!("@{}", self.module.symbol_name(self.entry).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::NoResources;
    use crate::parser::parse_module;
    use crate::registry::Registry;

    const SUM: &str = "graph.func @sum(%a: tensor<1x2xf16>, %b: tensor<2x1xf16>) -> tensor<1x1xf16> {
  %c = graph.gemm %a, %b : tensor<1x2xf16>, tensor<2x1xf16> -> tensor<1x1xf16>
  graph.return %c : tensor<1x1xf16>
}
";

    fn read(lines: &str) -> Result<Vec<RunLine>, String> {
        let options = ParseOptions::new(Registry::standard());
        let (module, findings) = parse_module("t.ir", format!("{SUM}{lines}"), options);
        assert_eq!(findings.render(&module.sources), "");
        let read = RunLine::read_all(&module, options, &NoResources);
        read.map_err(|findings| findings.render(&module.sources))
    }

    #[test]
    fn values_have_the_types_of_what_they_are_for() {
        let lines = read(
            "  // run: @sum(dense<[[1.0, 2.0]]>, #ipu.iota<start = 3>) == dense<[[11.0]]>
//run: @sum(dense<-0.0> : tensor<1x2xf16>, dense<\"0x00fe003c\">) ~= dense<nan>
// Not a line: run: @sum()
",
        )
        .unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].arguments[1].values(), [3.0, 4.0]);
        assert_eq!((lines[0].symbol.as_str(), lines[0].comparison), ("sum", Comparison::Bits));
        assert_eq!(lines[1].arguments[0].bytes, [0, 0x80, 0, 0x80]);
        assert_eq!(lines[1].comparison, Comparison::Tolerance);
        assert!(lines[1].expected[0].values()[0].is_nan());
    }

    #[test]
    fn what_is_wrong_in_a_line_has_its_place_in_the_file() {
        insta::assert_snapshot!(read(
            "// run: @sun(dense<1.0>, dense<1.0>) == dense<1.0>
// run: @sum(dense<1.0>) == dense<1.0>
// run: @sum(dense<1.0>, dense<1.0>, dense<1.0>) == dense<1.0>
// run: @sum(dense<1.0>, dense<1> : tensor<2x1xi16>) == dense<1.0>
// run: @sum(dense<1.0>, dense<[1.0]>) == dense<1.0>
// run: @sum(dense<1.0>, dense<1.0>) = dense<1.0>
// run: @sum(dense<1.0>, dense<1.0>) ==
// run: @sum(dense<1.0>, dense<1.0>) == dense<1.0>, dense<1.0>
// run: @sum(dense<1.0>, #ipu.npy<\"a.npy\">) == dense<1.0>
"
        )
        .unwrap_err(), @r#"
        t.ir:5:9: error[V0302]: the file has no `@sun` to run
          | // run: @sun(dense<1.0>, dense<1.0>) == dense<1.0>
          |         ^^^^
          = fix: did you mean `@sum`? (`@sum` at t.ir:5:9)
        t.ir:6:9: error[V0701]: `@sum` wants a value for `arg1`, a `tensor<2x1xf16>`
          | // run: @sum(dense<1.0>) == dense<1.0>
          |         ^^^^^^^^^^^^^^^^
        t.ir:7:38: error[V0701]: `@sum` has no tensor for this value
          | // run: @sum(dense<1.0>, dense<1.0>, dense<1.0>) == dense<1.0>
          |                                      ^^^^^
        t.ir:8:26: error[V0703]: `arg1`: elements of a `tensor<2x1xi16>` are not those of a `tensor<2x1xf16>`
          | // run: @sum(dense<1.0>, dense<1> : tensor<2x1xi16>) == dense<1.0>
          |                          ^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:9:32: error[E0402]: the lists do not have the shape of the tensor
          | // run: @sum(dense<1.0>, dense<[1.0]>) == dense<1.0>
          |                                ^^^^^
        t.ir:10:40: error[E0201]: expected `==` or `~=`, found `dense`
          | // run: @sum(dense<1.0>, dense<1.0>) = dense<1.0>
          |                                        ^^^^^
        t.ir:11:39: error[E0201]: expected an attribute, found the end of the text
          | // run: @sum(dense<1.0>, dense<1.0>) ==
          |                                       ^
        t.ir:12:53: error[V0701]: `@sum` has no tensor for this value
          | // run: @sum(dense<1.0>, dense<1.0>) == dense<1.0>, dense<1.0>
          |                                                     ^^^^^
        t.ir:13:26: error[V0703]: `arg1`: `a.npy` cannot be opened here
          | // run: @sum(dense<1.0>, #ipu.npy<"a.npy">) == dense<1.0>
          |                          ^^^^^^^^^^^^^^^^^
        "#);
    }
}
