//! The code of one image: host programs and tables, the steps, the jump to them.

use std::ops::Range;

use ipu_device::Address;
use ipu_device::host_exchange::TileHostPlan;
use ipu_device::package::SegmentFlags;
use ipu_device::supervisor::{
    Argument, Assembler, Line as AssemblerLine, Repeat, host_calls, host_programs, host_tables,
};
use ipu_dialects::ir::OpId;
use ipu_dialects::tile::{Assembled, Body, Image, Section, Step, StepKind, TileProgram};
use rustc_hash::FxHashMap;

use super::layout::{MAIN, Runtime, behind, behind_rows};
use super::{EmitCode, EmitError};

/// The image with code for its steps, for tiles whose part in the host exchange is `host`.
pub(super) fn image(
    program: &TileProgram,
    runtime: &Runtime,
    mut image: Image,
    host: &TileHostPlan,
) -> Result<Image, EmitError> {
    let steps = image.steps.take().unwrap_or_default();
    let mut next = behind_rows(&program.kernels, &image);
    let source = image.source;
    let add = |image: &mut Image, next: &mut Address, code: &Assembler, kind, first: &str| {
        let mut sections = Section::assembled(code, kind, *next, first, |_| None)?;
        sections.iter_mut().for_each(|section| section.source = source);
        *next = behind(*next, code.size());
        image.sections.extend(sections);
        Ok::<(), EmitError>(())
    };
    if has_batches(host) {
        add(&mut image, &mut next, &host_programs(host), Assembled::Code, "host")?;
        add(&mut image, &mut next, &host_tables(host), Assembled::Data(SegmentFlags::TABLE), "host.tables")?;
    }
    let main = Main::of(&steps, host)?;
    let symbols = symbols_of(program, &image);
    let known = |name: &str| symbols.get(name).copied().or_else(|| runtime.address(name));
    let mut sections = Section::assembled(&main.code, Assembled::Code, next, MAIN, known)?;
    for section in &mut sections {
        section.source = source;
        main.trace(&mut section.body);
    }
    image.sections.extend(runtime.jump(next)?);
    image.sections.extend(sections);
    image.sections.sort_by_key(|section| section.address);
    Ok(image)
}

fn has_batches(host: &TileHostPlan) -> bool {
    [&host.weights, &host.inputs, &host.outputs].iter().any(|groups| !groups.is_empty())
}

/// Addresses of all that code of the image can name.
fn symbols_of<'p>(program: &'p TileProgram, image: &'p Image) -> FxHashMap<&'p str, Address> {
    let kernels = program.kernels.iter().map(|kernel| (&*kernel.symbol, kernel.address));
    let sections = program.common.iter().chain(&image.sections);
    kernels.chain(sections.map(|section| (&*section.symbol, section.address))).collect()
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
                StepKind::Exchange { row, idle: false } => {
                    main.code.exchange_active(row.to_string(), Address(0));
                }
                StepKind::Exchange { row, idle: true } => main.code.exchange_inactive(row.to_string()),
                StepKind::CallKernel { kernel, operands, scalars } => {
                    let addresses = operands.iter().map(|address| address.0);
                    let scalars = scalars.values().iter().map(|value| value.cast_unsigned());
                    let arguments: Vec<Argument> = addresses.chain(scalars).map(Argument::Constant).collect();
                    if !main.code.kernel_call(kernel.symbol(), &arguments) {
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
