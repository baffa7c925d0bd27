//! Comments and blank lines: each is given to the op it stands before or beside.

use std::sync::Arc;

use super::Parser;
use crate::ir::{Trivia, TriviaLine};

impl Parser<'_> {
    /// Comments and blank lines before the next token that nobody took yet.
    pub(super) fn take_leading(&mut self) -> Vec<TriviaLine> {
        let mut lines = Vec::new();
        let mut from = self.last_end;
        while let Some(comment) = self.comments.get(self.next_comment) {
            if comment.before as usize > self.position {
                break;
            }
            if comment.start >= from {
                self.push_blank(&mut lines, from, comment.start);
            }
            lines.push(TriviaLine::Comment(self.comment_text(comment.start, comment.end)));
            from = from.max(comment.end);
            self.next_comment += 1;
        }
        self.push_blank(&mut lines, from, self.peek().start);
        lines
    }

    /// The comment at the end of the line of the last taken token.
    pub(super) fn take_line_comment(&mut self) -> Option<Arc<str>> {
        let comment = *self.comments.get(self.next_comment)?;
        let between = self.text.get(self.last_end as usize..comment.start as usize)?;
        if comment.before as usize != self.position || between.contains('\n') {
            return None;
        }
        self.next_comment += 1;
        Some(self.comment_text(comment.start, comment.end))
    }

    /// Completes the comments of what was just parsed: those inside it lead, one on its last line trails.
    pub(super) fn take_trailing(&mut self, trivia: &mut Trivia) {
        while let Some(comment) = self.comments.get(self.next_comment) {
            if comment.before as usize >= self.position {
                break;
            }
            let text = self.comment_text(comment.start, comment.end);
            trivia.leading.push(TriviaLine::Comment(text));
            self.next_comment += 1;
        }
        if let Some(text) = self.take_line_comment() {
            match trivia.trailing {
                None => trivia.trailing = Some(text),
                Some(_) => trivia.leading.push(TriviaLine::Comment(text)),
            }
        }
    }

    fn push_blank(&self, lines: &mut Vec<TriviaLine>, from: u32, to: u32) {
        let between = self.text.get(from as usize..to as usize).unwrap_or("");
        let breaks = between.bytes().filter(|&byte| byte == b'\n').count();
        // The line break that ends what stands before is not a blank line.
        if breaks >= 2 && lines.last() != Some(&TriviaLine::Blank) {
            lines.push(TriviaLine::Blank);
        }
    }

    /// Text of a comment without `//` and the spaces around it.
    fn comment_text(&self, start: u32, end: u32) -> Arc<str> {
        let text = self.text.get(start as usize + 2..end as usize).unwrap_or("");
        Arc::from(text.strip_prefix(' ').unwrap_or(text).trim_end())
    }
}
