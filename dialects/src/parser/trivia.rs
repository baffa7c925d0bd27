//! Comments and blank lines: each is given to the op it stands before or beside.

use std::sync::Arc;

use super::Parser;
use super::cursor::Comment;
use crate::ir::{Trivia, TriviaLine};

impl Parser<'_> {
    /// Comments and blank lines before the next token that nobody took yet.
    pub(super) fn take_leading(&mut self) -> Vec<TriviaLine> {
        let mut lines = std::mem::take(&mut self.carried_comments);
        let mut from = self.last_end();
        let next = self.peek().start;
        while let Some(comment) = self.cursor.comment_before(next) {
            if comment.start >= from {
                self.push_blank(&mut lines, from, comment.start);
            }
            lines.push(TriviaLine::Comment(self.comment_text(comment)));
            from = from.max(comment.end);
            self.cursor.take_comment();
        }
        self.push_blank(&mut lines, from, next);
        lines
    }

    /// The comment at the end of the line of the last taken token.
    pub(super) fn take_line_comment(&mut self) -> Option<Arc<str>> {
        let comment = self.cursor.comment_before(self.peek().start)?;
        let between = self.text.get(self.last_end() as usize..comment.start as usize)?;
        if between.contains('\n') {
            return None;
        }
        self.cursor.take_comment();
        Some(self.comment_text(comment))
    }

    /// Completes the comments of what was just parsed: those inside it lead, one on its last line trails.
    pub(super) fn take_trailing(&mut self, trivia: &mut Trivia) {
        while let Some(comment) = self.cursor.comment_before(self.last_end()) {
            trivia.leading.push(TriviaLine::Comment(self.comment_text(comment)));
            self.cursor.take_comment();
        }
        if let Some(text) = self.take_line_comment() {
            trivia.add_trailing(text);
        }
    }

    /// Drops the comments of what was skipped.
    pub(super) fn drop_comments(&mut self) {
        while self.cursor.comment_before(self.last_end()).is_some() {
            self.cursor.take_comment();
        }
    }

    fn push_blank(&self, lines: &mut Vec<TriviaLine>, from: u32, to: u32) {
        let between = self.text.get(from as usize..to as usize).unwrap_or("");
        // The line break that ends what stands before is not a blank line.
        let blank = between.bytes().filter(|&byte| byte == b'\n').nth(1).is_some();
        if blank && lines.last() != Some(&TriviaLine::Blank) {
            lines.push(TriviaLine::Blank);
        }
    }

    /// Text of a comment without `//` and the spaces around it.
    fn comment_text(&self, comment: Comment) -> Arc<str> {
        let text = self.text.get(comment.start as usize + 2..comment.end as usize).unwrap_or("");
        Arc::from(text.strip_prefix(' ').unwrap_or(text).trim_end())
    }
}
