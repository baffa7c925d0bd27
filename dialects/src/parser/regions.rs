//! Regions, blocks, and the text as a whole.

use ipu_device::hash::HashMap;

use super::names::BlockEntry;
use super::{EntryArgument, ParseResult, Parser};
use crate::builtin::ModuleOp;
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::ir::{BlockId, RegionId, Trivia};
use crate::lexer::TokenKind;
use crate::limits::MAX_REGION_NESTING;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn parse_file(&mut self) {
        let body = self.module.body();
        self.current_block = Some(body);
        self.blocks.push(HashMap::default());
        loop {
            let defines_alias = matches!(self.peek().kind, TokenKind::Hash | TokenKind::Bang)
                && self.peek_second().kind == TokenKind::Equal;
            match self.peek().kind {
                TokenKind::End => break,
                TokenKind::RightBrace => {
                    let _ = self.error::<()>(ParseCode::Unexpected, self.span(), "`}` without `{`");
                    self.advance();
                }
                TokenKind::SectionStart => {
                    if self.parse_resource_section().is_err() {
                        while !self.at(TokenKind::End) && !self.eat(TokenKind::SectionEnd) {
                            self.advance();
                        }
                    }
                }
                _ if defines_alias => {
                    let leading = Trivia { leading: self.take_leading(), trailing: None };
                    let start = self.peek().start;
                    if self.parse_alias_definition(leading).is_err() {
                        self.skip_alias(start);
                    }
                }
                _ => self.parse_op_or_recover(),
            }
        }
        let rest = self.take_leading();
        self.set_block_end(body, rest);
        self.check_blocks_defined();
        self.pop_scope();
        self.use_explicit_root();
        if let Some(open) = self.deepest.filter(|_| !self.too_deep && !self.module.explicit_root) {
            let _ = self.nested_too_deep::<()>(open);
        }
    }

    fn nested_too_deep<T>(&mut self, open: Span) -> ParseResult<T> {
        let message = format!("regions are nested more than {MAX_REGION_NESTING} deep");
        self.error(ParseCode::TooDeep, open, message)
    }

    /// Skips the alias that starts at byte `start`: to the next line that does not go on with it.
    fn skip_alias(&mut self, start: u32) {
        if self.peek().start == start {
            self.advance();
        }
        while !self.at(TokenKind::End) {
            let token = self.peek();
            let between = self.text.get(self.last_end() as usize..token.start as usize).unwrap_or("");
            if between.contains('\n') && !matches!(token.kind, TokenKind::RightBrace | TokenKind::Greater) {
                break;
            }
            self.advance();
        }
    }

    /// A text that is one `builtin.module` with a body writes its root.
    fn use_explicit_root(&mut self) {
        let body = self.module.body();
        let Some(only) = self.module.first_op(body) else { return };
        let has_body = self.module.entry_block(only, 0).is_some();
        if has_body && self.module.next_op(only).is_none() && self.module.is::<ModuleOp>(only) {
            self.module.adopt_root(only);
        }
    }

    fn set_block_end(&mut self, block: BlockId, mut lines: Vec<crate::ir::TriviaLine>) {
        while lines.last() == Some(&crate::ir::TriviaLine::Blank) {
            lines.pop();
        }
        self.module.set_block_trivia(block, lines);
    }

    /// `{ ... }`: blocks of ops. The entry block has the arguments `entry`; if there are none, the text may give
    /// them by a block header.
    ///
    /// # Errors
    /// The braces or a block header are wrong; errors in ops are reported and passed over.
    pub fn parse_region(&mut self, entry: Vec<EntryArgument>, isolated: bool) -> ParseResult<RegionId> {
        let open = self.span();
        if self.region_depth > MAX_REGION_NESTING {
            self.too_deep = true;
            return self.nested_too_deep(open);
        }
        if self.region_depth == MAX_REGION_NESTING {
            self.deepest.get_or_insert(open);
        }
        self.expect(TokenKind::LeftBrace, "`{`")?;
        let mut comments = std::mem::take(&mut self.pending_trailing);
        comments.extend(self.take_line_comment());
        self.region_depth += 1;
        let outer_block = self.current_block.take();
        self.push_scope(isolated);
        self.blocks.push(HashMap::default());
        let result = self.parse_region_body(entry, open);
        self.check_blocks_defined();
        self.pop_scope();
        self.current_block = outer_block;
        self.region_depth -= 1;
        self.pending_trailing = comments;
        result
    }

    /// `{}` in generic form: a region without blocks.
    pub(super) fn parse_no_blocks(&mut self) -> RegionId {
        self.advance();
        let comment = self.take_line_comment();
        self.pending_trailing.extend(comment);
        self.advance();
        self.module.create_region()
    }

    fn parse_region_body(&mut self, entry: Vec<EntryArgument>, open: Span) -> ParseResult<RegionId> {
        let region = self.module.create_region();
        let mut block: Option<BlockId> = None;
        if !entry.is_empty() || !self.at(TokenKind::Caret) {
            let first = self.module.append_block(region);
            self.current_block = Some(first);
            for argument in entry {
                self.add_argument(first, &argument)?;
            }
            block = Some(first);
        }
        loop {
            match self.peek().kind {
                TokenKind::RightBrace => break,
                TokenKind::End => {
                    let error = Diagnostic::error(ParseCode::Unexpected, open, "`{` without `}`")
                        .note("the text ends before the region does: a `}` is missing at its end or in one inside it");
                    return self.report(error);
                }
                TokenKind::Caret => {
                    if let Some(block) = block {
                        let lines = self.take_leading();
                        self.set_block_end(block, lines);
                    }
                    block = Some(self.parse_block_header(region)?);
                    self.current_block = block;
                }
                _ => self.parse_op_or_recover(),
            }
            if self.too_deep {
                return Err(super::Reported);
            }
        }
        if let Some(block) = block {
            let lines = self.take_leading();
            self.set_block_end(block, lines);
        }
        self.advance();
        Ok(region)
    }

    /// `^name(%a: T, ...):`
    fn parse_block_header(&mut self, region: RegionId) -> ParseResult<BlockId> {
        let span = self.span();
        let token = self.advance();
        let name = &self.token_text(token)[1..];
        let block = self.block_named(name, span);
        if let Some(entry) = self.blocks.last_mut().and_then(|blocks| blocks.get_mut(name))
            && std::mem::replace(&mut entry.defined, true)
        {
            return self.error(ParseCode::Redefinition, span, format!("block `^{name}` is defined twice"));
        }
        self.module.attach_block(region, block);
        self.module.set_block_name(block, Some(name));
        if self.at(TokenKind::LeftParen) {
            let arguments = self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
                let operand = parser.parse_operand()?;
                parser.expect(TokenKind::Colon, "`:`")?;
                let ty = parser.parse_type()?;
                let location = parser.parse_optional_location()?;
                Ok(EntryArgument { name: operand.name, span: operand.span, ty, location })
            })?;
            for argument in arguments {
                self.add_argument(block, &argument)?;
            }
        }
        self.expect(TokenKind::Colon, "`:` after the block header")?;
        Ok(block)
    }

    fn add_argument(&mut self, block: BlockId, argument: &EntryArgument) -> ParseResult<()> {
        let name = self.kept_name(argument.name);
        let value = self.module.add_argument(block, argument.ty.clone(), name);
        self.module.set_argument_location(value, argument.location.clone());
        self.define_values(argument.name, value, 1, argument.span)
    }

    fn check_blocks_defined(&mut self) {
        let Some(blocks) = self.blocks.pop() else { return };
        let mut missing: Vec<(&str, BlockEntry)> =
            blocks.into_iter().filter(|(_, entry)| !entry.defined).collect();
        missing.sort_by_key(|(_, entry)| entry.span.start);
        for (name, entry) in missing {
            let message = format!("block `^{name}` is not defined in this region");
            self.diagnostics.push(Diagnostic::error(ParseCode::UndefinedBlock, entry.span, message));
        }
    }
}
