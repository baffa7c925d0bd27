//! The code of one image: host programs and tables, the steps, the jump to them.

use std::ops::Range;

use ipu_device::host_exchange::TileHostPlan;
use ipu_device::package::SegmentFlags;
use ipu_device::supervisor::{
    Argument, Assembler, Line as AssemblerLine, Repeat, host_calls, host_programs, host_tables,
};
use ipu_device::{Address, LogicalTile};
use ipu_dialects::ir::OpId;
use ipu_dialects::tile::{Assembled, Body, Image, Section, Step, StepKind, TileProgram};

use super::layout::{MAIN, Runtime, behind, behind_rows};
use super::names::{marked, unmarked};
use super::{EmitCode, EmitError};

/// The image `like` without its steps for `tiles`, whose part in the host exchange is `host`; and the sections that do its
/// steps, still with the assembler's names.
pub(super) fn image(
    program: &TileProgram,
    runtime: &Runtime,
    like: &Image,
    tiles: Vec<LogicalTile>,
    host: &TileHostPlan,
) -> Result<(Image, Vec<Section>), EmitError> {
    let main = Main::of(like.steps.as_deref().unwrap_or(&[]), host)?;
    let mut next = behind_rows(program, like);
    let mut sections = Vec::new();
    if has_batches(host) {
        for (code, kind) in [
            (host_programs(host), Assembled::Code),
            (host_tables(host), Assembled::Data(SegmentFlags::TABLE)),
        ] {
            sections.extend(Section::assembled(&code, kind, next, HOST, |_| None)?);
            next = behind(next, code.size());
        }
    }
    let known = |name: &str| match unmarked(name) {
        Some(there) => address_of(program, like, there),
        None => {
            let own = sections.iter().find(|section| *section.symbol == *name);
            own.map(|section| section.address).or_else(|| runtime.address(name))
        }
    };
    let mut body = Section::assembled(&main.code, Assembled::Code, next, MAIN, known)?;
    body.iter_mut().for_each(|section| main.trace(&mut section.body));
    sections.extend(runtime.jump(next)?);
    sections.extend(body);
    sections.iter_mut().for_each(|section| section.source = like.source);
    let image = Image { source: like.source, tiles, sections: like.sections.clone(), steps: None };
    Ok((image, sections))
}

/// What code and tables of the host exchange would be called that have no name of their own; all of them have.
const HOST: &str = "host";

fn has_batches(host: &TileHostPlan) -> bool {
    [&host.weights, &host.inputs, &host.outputs].iter().any(|groups| !groups.is_empty())
}

/// The address of a row of the image, or of a kernel.
fn address_of(program: &TileProgram, image: &Image, symbol: &str) -> Option<Address> {
    let row = image.sections.iter().find(|section| *section.symbol == *symbol);
    let kernel = || program.kernels.iter().find(|kernel| *kernel.symbol == *symbol);
    row.map(|row| row.address).or_else(|| kernel().map(|kernel| kernel.address))
}

/// The tile's own program.
struct Main {
    code: Assembler,
    /// Which lines of `code` each step has become.
    made_for: Vec<(Option<OpId>, Range<usize>)>,
}

impl Main {
    fn of(steps: &[Step], host: &TileHostPlan) -> Result<Self, EmitError> {
        let mut main = Self { code: Assembler::new(), made_for: Vec::with_capacity(steps.len()) };
        // Repeats that are open, with the ends of their bodies.
        let mut repeats: Vec<(Repeat, usize)> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            main.close_repeats(&mut repeats, index);
            let start = main.code.lines().len();
            match &step.kind {
                StepKind::ExchangeHost(part) => host_calls(&mut main.code, host, part.name()),
                StepKind::Exchange { row, base, idle: false } => {
                    main.code.exchange_active(marked(row), *base);
                }
                StepKind::Exchange { row, idle: true, .. } => main.code.exchange_inactive(marked(row)),
                StepKind::CallKernel { kernel, operands, scalars } => {
                    let addresses = operands.iter().map(|address| address.0);
                    let scalars = scalars.values().iter().map(|value| value.cast_unsigned());
                    let arguments: Vec<Argument> = addresses.chain(scalars).map(Argument::Constant).collect();
                    if !main.code.kernel_call(marked(&kernel.symbol()), &arguments) {
                        let message = format!("`@{kernel}` has more arguments than registers");
                        return Err(EmitError::new(EmitCode::Step, step.source, message));
                    }
                }
                StepKind::Repeat { count, body } => {
                    if *count == 0 {
                        let message = "a repeat of 0 rounds has no code; remove it";
                        return Err(EmitError::new(EmitCode::Step, step.source, message));
                    }
                    repeats.push((main.code.begin_repeat(*count, &[]), body.end));
                }
            }
            main.made_for.push((step.source, start..main.code.lines().len()));
        }
        main.close_repeats(&mut repeats, usize::MAX);
        main.code.finish();
        Ok(main)
    }

    fn close_repeats(&mut self, repeats: &mut Vec<(Repeat, usize)>, index: usize) {
        while let Some((repeat, _)) = repeats.pop_if(|&mut (_, end)| end <= index) {
            self.code.end_repeat(repeat, &[]);
        }
    }

    /// Gives each instruction of the section the step that it was made for. Labels of repeats are no instructions.
    fn trace(&self, body: &mut Body) {
        let Body::Code(lines) = body else { return };
        let is_code = |line: &AssemblerLine| !matches!(line, AssemblerLine::Label(_));
        let places = (0..).zip(self.code.lines()).filter(|(_, line)| is_code(line)).map(|(at, _)| at);
        let mut steps = self.made_for.iter().peekable();
        for (line, place) in lines.iter_mut().zip(places) {
            while steps.next_if(|(_, made)| made.end <= place).is_some() {}
            line.source = steps.peek().filter(|(_, made)| made.contains(&place)).and_then(|(op, _)| *op);
        }
    }
}
