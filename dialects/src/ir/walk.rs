//! Traversal without recursion.

use super::entity::OpId;
use super::module::Module;

/// Ops in pre-order; see [`Module::walk`].
#[derive(Debug)]
pub struct Walk<'m> {
    module: &'m Module,
    root: OpId,
    stack: Vec<OpId>,
}

impl Iterator for Walk<'_> {
    type Item = OpId;

    fn next(&mut self) -> Option<OpId> {
        let op = self.stack.pop()?;
        if op != self.root {
            self.stack.extend(self.module.next_op(op));
        }
        for &region in self.module.regions(op).iter().rev() {
            for &block in self.module.blocks_of(region).iter().rev() {
                self.stack.extend(self.module.first_op(block));
            }
        }
        Some(op)
    }
}

impl Module {
    /// `root` and all ops in it, each before the ops in its regions, in order of text.
    #[must_use]
    pub fn walk(&self, root: OpId) -> Walk<'_> {
        Walk { module: self, root, stack: vec![root] }
    }

    /// `root` and all ops in it, each after the ops in its regions, in order of text.
    #[must_use]
    pub fn walk_post_order(&self, root: OpId) -> Vec<OpId> {
        let mut order = Vec::new();
        let mut stack = vec![(root, false)];
        while let Some((op, visited)) = stack.pop() {
            if visited {
                order.push(op);
                continue;
            }
            if op != root {
                stack.extend(self.next_op(op).map(|next| (next, false)));
            }
            stack.push((op, true));
            for &region in self.regions(op).iter().rev() {
                for &block in self.blocks_of(region).iter().rev() {
                    stack.extend(self.first_op(block).map(|first| (first, false)));
                }
            }
        }
        order
    }
}
