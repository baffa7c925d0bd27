//! Wrong rows, steps and code.

use ipu_device::isa::Instruction;
use ipu_device::topology::NEUTRAL_SOURCE;
use ipu_device::{Address, LogicalTile};
use ipu_dialects::tile::{Body, Code, Image, Line, Section, StepKind, TileProgram};

use super::{Mutation, Plant, on_split_seed};

const fn wrong(
    name: &'static str,
    pass: &'static str,
    op: &'static str,
    summary: &'static str,
    plant: fn(&mut TileProgram) -> Option<()>,
) -> Mutation {
    on_split_seed(name, pass, op, summary, Plant::Tile(plant))
}

const LOWER: &str = "lower-exchanges";
const EMIT: &str = "emit-tile-code";

pub(super) static MUTATIONS: &[Mutation] = &[
    wrong("shifted-pic", LOWER, "tile.row", "a receive pointer a word further on", |program| {
        row(program, shifted_pic)
    }),
    wrong("stale-xpic", LOWER, "tile.row", "a receiver that listens to the sender of before", |program| {
        row(program, stale_xpic)
    }),
    wrong(
        "missing-teardown",
        LOWER,
        "tile.row",
        "a receiver that listens on after its last word",
        |program| row(program, missing_teardown),
    ),
    wrong("late-row", LOWER, "tile.row", "a row an event late", |program| row(program, late_row)),
    wrong("early-row", LOWER, "tile.row", "a row an event early", |program| row(program, early_row)),
    wrong("wrong-send-address", LOWER, "tile.row", "a send from two words further on", |program| {
        row(program, wrong_send_address)
    }),
    wrong("swapped-rows", LOWER, "tile.row", "rows of two tiles exchanged", swapped_rows),
    wrong("wrong-operand", LOWER, "tile.call_kernel", "a call on another buffer", wrong_operand),
    wrong(
        "swapped-operands-of-call",
        LOWER,
        "tile.call_kernel",
        "inputs of a call exchanged",
        swapped_call_operands,
    ),
    wrong("swapped-calls", LOWER, "tile.call_kernel", "two calls exchanged", swapped_calls),
    wrong("wrong-scalar-of-call", LOWER, "tile.call_kernel", "a call for half of the elements", wrong_scalar),
    wrong(
        "wrong-weight-binding",
        LOWER,
        "tile.binding",
        "weights of one tile at another's address",
        wrong_weight_binding,
    ),
    wrong("wrong-argument", EMIT, "tile.code", "a register with another address", |program| {
        main(program, wrong_argument)
    }),
    wrong("wrong-callee", EMIT, "tile.code", "a call of the kernel before", |program| {
        main(program, wrong_callee)
    }),
    wrong("skipped-call", EMIT, "tile.code", "a call left out", |program| main(program, skipped_call)),
    wrong(
        "missing-barrier",
        EMIT,
        "tile.code",
        "a tile that goes into a phase without the sync",
        |program| main(program, missing_barrier),
    ),
    wrong(
        "wrong-host-table",
        EMIT,
        "tile.data",
        "a packet of the host exchange to another address",
        wrong_host_table,
    ),
];

/// Changes the first row that has a place for it.
fn row(program: &mut TileProgram, change: fn(&mut [Line]) -> Option<()>) -> Option<()> {
    let sections = program.images.iter_mut().flat_map(|image| &mut image.sections);
    let mut rows = sections.filter_map(|section| match &mut section.body {
        Body::Row(lines) => Some(lines),
        _ => None,
    });
    rows.find_map(|lines| change(lines))
}

/// The first instruction that `change` takes.
fn first(lines: &mut [Line], mut change: impl FnMut(&mut Instruction) -> Option<()>) -> Option<()> {
    lines.iter_mut().find_map(|line| match &mut line.code {
        Code::Instruction(instruction) => change(instruction),
        Code::Word(_) => None,
    })
}

fn instruction(line: &Line) -> Option<Instruction> {
    match line.code {
        Code::Instruction(instruction) => Some(instruction),
        Code::Word(_) => None,
    }
}

fn shifted_pic(lines: &mut [Line]) -> Option<()> {
    first(lines, |instruction| match instruction {
        Instruction::Delaypic { selector: 0, value, .. }
        | Instruction::Sendpic { selector: 2, value, .. } => {
            *value += 1;
            Some(())
        }
        _ => None,
    })
}

fn stale_xpic(lines: &mut [Line]) -> Option<()> {
    let mut before = None;
    first(lines, |instruction| {
        let Instruction::Delayxpic { selector: 0, value, .. } = instruction else { return None };
        let found = before.replace(*value).filter(|before| before != value)?;
        *value = found;
        Some(())
    })
}

fn missing_teardown(lines: &mut [Line]) -> Option<()> {
    first(lines, |instruction| match *instruction {
        Instruction::Delayxpic { events_minus_1, selector: 0, value }
            if value == u32::from(NEUTRAL_SOURCE) =>
        {
            *instruction = Instruction::Delay { events_minus_1 };
            Some(())
        }
        _ => None,
    })
}

fn late_row(lines: &mut [Line]) -> Option<()> {
    first(lines, |instruction| match instruction {
        Instruction::Delay { events_minus_1 } => {
            *events_minus_1 += 1;
            Some(())
        }
        _ => None,
    })
}

fn early_row(lines: &mut [Line]) -> Option<()> {
    first(lines, |instruction| match instruction {
        Instruction::Delay { events_minus_1 } if *events_minus_1 > 0 => {
            *events_minus_1 -= 1;
            Some(())
        }
        _ => None,
    })
}

fn wrong_send_address(lines: &mut [Line]) -> Option<()> {
    first(lines, |instruction| match instruction {
        Instruction::Send { address, .. } => {
            *address += 2;
            Some(())
        }
        _ => None,
    })
}

fn swapped_rows(program: &mut TileProgram) -> Option<()> {
    let row = |image: &Image| image.sections.iter().position(|section| matches!(section.body, Body::Row(_)));
    let with_rows: Vec<(usize, usize)> =
        program.images.iter().enumerate().filter_map(|(index, image)| Some((index, row(image)?))).collect();
    let size = |&(image, at): &(usize, usize)| program.images[image].sections[at].size();
    let (one, other) = with_rows.iter().enumerate().find_map(|(index, one)| {
        let other = with_rows.iter().skip(index + 1).find(|other| {
            size(one) == size(other)
                && program.images[one.0].sections[one.1].body
                    != program.images[other.0].sections[other.1].body
        })?;
        Some((*one, *other))
    })?;
    let body = program.images[one.0].sections[one.1].body.clone();
    program.images[one.0].sections[one.1].body =
        std::mem::replace(&mut program.images[other.0].sections[other.1].body, body);
    Some(())
}

fn calls(program: &mut TileProgram) -> impl Iterator<Item = &mut StepKind> {
    let steps = program.images.iter_mut().filter_map(|image| image.steps.as_mut()).flatten();
    steps.map(|step| &mut step.kind).filter(|kind| matches!(kind, StepKind::CallKernel { .. }))
}

fn wrong_operand(program: &mut TileProgram) -> Option<()> {
    let StepKind::CallKernel { operands, .. } = calls(program).last()? else { return None };
    let first = *operands.get(1)?;
    *operands.get_mut(2)? = first;
    Some(())
}

fn swapped_call_operands(program: &mut TileProgram) -> Option<()> {
    let is_product = |kind: &&mut StepKind| matches!(kind, StepKind::CallKernel { kernel, .. } if kernel.entry().name.starts_with("gemm"));
    let StepKind::CallKernel { operands, .. } = calls(program).find(is_product)? else { return None };
    operands.swap(1, 2);
    Some(())
}

fn swapped_calls(program: &mut TileProgram) -> Option<()> {
    let steps = program.images.iter_mut().find_map(|image| image.steps.as_mut())?;
    let is_call = |at: &usize| matches!(steps[*at].kind, StepKind::CallKernel { .. });
    let first = (0..steps.len() - 1).find(|at| is_call(at) && is_call(&(at + 1)))?;
    steps.swap(first, first + 1);
    Some(())
}

fn wrong_scalar(program: &mut TileProgram) -> Option<()> {
    let StepKind::CallKernel { scalars, .. } = calls(program).last()? else { return None };
    let named: Vec<(&'static str, i64)> = scalars
        .named()
        .map(|(name, value)| (name, if name == "elements" { i64::from(value) / 2 } else { i64::from(value) }))
        .collect();
    *scalars = ipu_device::kernels::ScalarValues::from_named(scalars.entry(), named).ok()?;
    Some(())
}

fn wrong_weight_binding(program: &mut TileProgram) -> Option<()> {
    let binding = program
        .bindings
        .iter_mut()
        .find(|binding| binding.kind == ipu_device::package::BindingKind::Weight)?;
    let first = binding.slices.first()?.image_offset;
    let other = binding.slices.iter_mut().find(|slice| slice.image_offset != first)?;
    other.image_offset = first;
    Some(())
}

/// Changes the own code of the first tile.
fn main(program: &mut TileProgram, change: fn(&mut [Line]) -> Option<()>) -> Option<()> {
    let image = program.images.iter_mut().find(|image| image.tiles.contains(&LogicalTile(0)))?;
    let is_main = |section: &&mut Section| &*section.symbol == "main";
    match &mut image.sections.iter_mut().find(is_main)?.body {
        Body::Code(lines) => change(lines),
        _ => None,
    }
}

/// Positions of calls of kernels.
fn kernel_calls(lines: &[Line]) -> Vec<usize> {
    let is_kernel = |line: &Line| {
        let symbol = line.symbol.as_deref();
        symbol.is_some_and(|symbol| ipu_device::kernels::Kernel::parse(symbol).is_ok())
    };
    (0..lines.len()).filter(|&at| is_kernel(&lines[at])).collect()
}

fn wrong_argument(lines: &mut [Line]) -> Option<()> {
    let call = *kernel_calls(lines).last()?;
    first(&mut lines[call.checked_sub(3)?..call], |instruction| match instruction {
        Instruction::Setzi { value, .. } if *value > 0x4c000 => {
            *value -= 0x100;
            Some(())
        }
        _ => None,
    })
}

fn wrong_callee(lines: &mut [Line]) -> Option<()> {
    let calls = kernel_calls(lines);
    let [.., before, last] = calls.as_slice() else { return None };
    let (code, symbol) = (lines[*before].code, lines[*before].symbol.clone());
    (lines[*last].code, lines[*last].symbol) = (code, symbol);
    Some(())
}

fn skipped_call(lines: &mut [Line]) -> Option<()> {
    let calls = kernel_calls(lines);
    let same = instruction(lines.get(calls.last()?.checked_sub(1)?)?)?;
    lines[*calls.last()?] = Line::new(same);
    Some(())
}

fn missing_barrier(lines: &mut [Line]) -> Option<()> {
    let sync = lines
        .iter()
        .rposition(|line| matches!(line.code, Code::Instruction(Instruction::Sync { zone: 3 })))?;
    let before = instruction(lines.get(sync.checked_sub(1)?)?)?;
    lines[sync] = Line::new(before);
    Some(())
}

fn wrong_host_table(program: &mut TileProgram) -> Option<()> {
    let sections = program.images.iter_mut().flat_map(|image| &mut image.sections);
    let mut tables = sections.filter(|section| section.symbol.starts_with("host.inputs"));
    let Body::Data(data) = &mut tables.next()?.body else { return None };
    let word = data.words.iter_mut().find(|word| is_address(**word))?;
    *word += 32;
    Some(())
}

fn is_address(word: u32) -> bool {
    ipu_device::memory_map::MEMORY_BASE <= Address(word) && Address(word) < ipu_device::memory_map::MEMORY_END
}
