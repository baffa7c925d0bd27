//! Where ops and blocks stand to each other: what dominance is decided by.

use ipu_device::hash::{HashMap, HashSet};

use crate::ir::{BlockId, Module, OpId, RegionId};

/// Position of each op in its block, and dominators of blocks where a region has more than one.
pub(super) struct Numbering {
    positions: Vec<u32>,
    /// Immediate dominator of each block that can be reached; an entry block is its own.
    dominators: HashMap<BlockId, BlockId>,
}

impl Numbering {
    pub(super) fn of(module: &Module) -> Self {
        let mut numbering = Self { positions: vec![0; module.op_capacity()], dominators: HashMap::default() };
        for op in module.walk(module.root()) {
            for &region in module.regions(op) {
                for &block in module.blocks_of(region) {
                    for (position, child) in module.ops_of(block).enumerate() {
                        numbering.positions[child.index()] = position as u32;
                    }
                }
                if module.blocks_of(region).len() > 1 {
                    numbering.add_dominators(module, region);
                }
            }
        }
        numbering
    }

    /// Cooper, Harvey and Kennedy's iteration over blocks in reverse post-order.
    fn add_dominators(&mut self, module: &Module, region: RegionId) {
        let order = reverse_post_order(module, region);
        let rank: HashMap<BlockId, usize> =
            order.iter().enumerate().map(|(rank, &block)| (block, rank)).collect();
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (from, &block) in order.iter().enumerate() {
            for successor in successors(module, block) {
                if let Some(&to) = rank.get(&successor) {
                    predecessors[to].push(from);
                }
            }
        }
        let mut dominator: Vec<Option<usize>> = vec![None; order.len()];
        if let Some(entry) = dominator.first_mut() {
            *entry = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in 1..order.len() {
                let known = predecessors[block].iter().copied().filter(|&from| dominator[from].is_some());
                let meet = known.reduce(|a, b| common_dominator(&dominator, a, b));
                if meet.is_some() && dominator[block] != meet {
                    dominator[block] = meet;
                    changed = true;
                }
            }
        }
        for (index, found) in dominator.iter().enumerate() {
            if let Some(found) = found {
                self.dominators.insert(order[index], order[*found]);
            }
        }
    }

    /// Where `op` stands in its block.
    pub(super) fn position(&self, op: OpId) -> u32 {
        self.positions.get(op.index()).copied().unwrap_or(0)
    }

    /// Whether block `above` dominates block `below` of the same region.
    pub(super) fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let mut block = below;
        loop {
            if block == above {
                return true;
            }
            match self.dominators.get(&block) {
                Some(&next) if next != block => block = next,
                // An unreachable block is dominated by everything.
                None => return true,
                Some(_) => return false,
            }
        }
    }
}

fn common_dominator(dominator: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = dominator[a].unwrap_or(0);
        } else {
            b = dominator[b].unwrap_or(0);
        }
    }
    a
}

fn successors(module: &Module, block: BlockId) -> Vec<BlockId> {
    module.last_op(block).map_or_else(Vec::new, |op| module.successors(op).to_vec())
}

fn reverse_post_order(module: &Module, region: RegionId) -> Vec<BlockId> {
    let Some(&entry) = module.blocks_of(region).first() else { return Vec::new() };
    let mut order = Vec::new();
    let mut seen = HashSet::from_iter([entry]);
    let mut stack = vec![(entry, successors(module, entry))];
    while let Some((block, pending)) = stack.last_mut() {
        match pending.pop() {
            Some(next) => {
                if seen.insert(next) {
                    stack.push((next, successors(module, next)));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
