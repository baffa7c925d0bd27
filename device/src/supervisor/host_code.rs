//! A tile's host exchange as code and tables: batch programs, packet and descriptor tables, and the calls.

use super::assembler::{Assembler, Symbol};
use super::runtime::{HOST_RUN, REPEAT_CALL};
use crate::host_exchange::{CallGroup, TileHostPlan};
use crate::isa::{Instruction, Register};
use crate::units::Address;

/// The program of a batch in which the tile only follows.
pub const FOLLOWER: Symbol = Symbol::fixed("host.follower");

fn program(index: usize) -> Symbol {
    format!("host.program.{index}").into()
}

fn packets(index: usize) -> Symbol {
    format!("host.packets.{index}").into()
}

/// Name of the descriptor table of a call group: the part of the program and the group's place in it.
fn descriptors(part: &str, group: usize) -> Symbol {
    format!("host.{part}.{group}").into()
}

/// The three parts of a plan with their names.
fn parts(plan: &TileHostPlan) -> [(&'static str, &[CallGroup]); 3] {
    [("weights", &plan.weights), ("inputs", &plan.inputs), ("outputs", &plan.outputs)]
}

/// Code: the follower and the tile's distinct batch programs, each on a multiple of 8 bytes.
#[must_use]
pub fn host_programs(plan: &TileHostPlan) -> Assembler {
    let mut code = Assembler::new();
    code.label(FOLLOWER);
    code.push(Instruction::Sans { syncs_minus_1: 1 });
    code.push(Instruction::Sync { zone: 1 });
    code.push(Instruction::Br { target: Register::M10 });
    for (index, instructions) in plan.programs.iter().enumerate() {
        code.align();
        code.label(program(index));
        code.extend(instructions.iter().copied());
    }
    code
}

/// Data: distinct packet tables, then a descriptor table for each call of the runner. They refer to each other only.
#[must_use]
pub fn host_tables(plan: &TileHostPlan) -> Assembler {
    let mut data = Assembler::new();
    for (index, table) in plan.packet_tables.iter().enumerate() {
        data.label(packets(index));
        for word in table {
            data.word(*word);
        }
    }
    for (part, groups) in parts(plan) {
        for (group, call) in groups.iter().enumerate() {
            let CallGroup::Active { descriptors: rows, .. } = call else { continue };
            data.label(descriptors(part, group));
            for row in rows {
                let [destination, counts, _] = row.words(Address(0));
                data.word(destination);
                data.word(counts);
                data.address_word(packets(row.packet_table));
            }
        }
    }
    data
}

/// Appends the calls of one part of the plan, `weights`, `inputs` or `outputs`.
pub fn host_calls(code: &mut Assembler, plan: &TileHostPlan, part: &str) {
    let groups =
        parts(plan).into_iter().find(|(name, _)| *name == part).map_or(&[][..], |(_, groups)| groups);
    for (group, call) in groups.iter().enumerate() {
        match call {
            CallGroup::Active { program: index, descriptors: rows } => {
                code.set(Register::M2, rows.len() as u32);
                code.set_address(Register::M3, descriptors(part, group));
                code.set_address(Register::M4, program(*index));
                code.call(Register::M9, HOST_RUN);
            }
            CallGroup::Follow { count } => {
                code.set(Register::M2, *count);
                code.set_address(Register::M3, FOLLOWER);
                code.call(Register::M9, REPEAT_CALL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_exchange::plan_host_exchange;
    use crate::package::{Binding, RegionSlice};
    use crate::units::PhysicalTile;

    #[test]
    fn code_tables_and_calls_of_a_tile_link_together() {
        let slice =
            RegionSlice { tile: PhysicalTile(66), address: Address(0x60000), file_offset: 0, size: 8192 };
        let input = Binding { name: "x".to_owned(), slices: vec![slice], ..Binding::default() };
        let other = RegionSlice { tile: PhysicalTile(4), ..slice };
        let output = Binding { name: "y".to_owned(), slices: vec![other], ..Binding::default() };
        let plan = plan_host_exchange(&[], &[input], &[output]).expect("legal");
        let tile = TileHostPlan::new(&plan, PhysicalTile(66)).expect("fits");
        let programs = host_programs(&tile).link(Address(0x5d000), |_| None).expect("links");
        let tables = host_tables(&tile).link(Address(0x5e000), |_| None).expect("links");
        let mut calls = Assembler::new();
        for part in ["weights", "inputs", "outputs"] {
            host_calls(&mut calls, &tile, part);
        }
        let runners = [("host_run", 0x5c100), ("repeat_call", 0x5c200)];
        let calls = calls
            .link(Address(0x5f000), |name| {
                let runner =
                    runners.iter().find(|(known, _)| *known == name).map(|(_, address)| Address(*address));
                runner
                    .or_else(|| programs.symbols.get(name).copied())
                    .or_else(|| tables.symbols.get(name).copied())
            })
            .expect("links");
        // Two reads with one program, then two batches in which the tile follows.
        assert_eq!(programs.symbols["host.program.0"], Address(0x5d010));
        assert_eq!(
            calls.words,
            [
                0x1920_0002,
                0x1930_0000 | tables.symbols["host.inputs.0"].0,
                0x1945_d010,
                0x1891_7040,
                0x1920_0002,
                0x1935_d000,
                0x1891_7080,
            ]
        );
        let first = (tables.symbols["host.inputs.0"].0 - 0x5e000) as usize / 4;
        assert_eq!(tables.words[first..first + 3], [0x60000, 1024 | 1 << 23 | 8 << 24, 0x5e000]);
        assert_eq!(tables.words[first + 3], 0x61000);
    }
}
