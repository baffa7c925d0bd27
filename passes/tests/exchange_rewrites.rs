//! `--optimize-exchanges` on programs: what it drops, joins and fuses, and what it must leave.

use crate::pass_runs::{parse, printed, run};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, run_program};
use ipu_dialects::ir::Module;
use ipu_passes::manager::state::main_program;
use ipu_passes::manager::{Artifacts, ManagerOptions, Pipeline, ResolvedPipeline, Silent};

/// A program on four tiles: `%x` and `%w` are loaded, `%y` is stored, `%z` is between.
fn program(steps: &str, state: &str) -> String {
    let buffer = |name: &str, at: &str| {
        let at = if state == "placed" { format!(" at {at}") } else { String::new() };
        format!("  %{name} = exchange.buffer \"{name}\" : 64 bytes {{memory = standard, align = 32}}{at}\n")
    };
    let addresses = [("x", "0x70000"), ("w", "0x74000"), ("y", "0x78000"), ("z", "0x7c000")];
    let buffers: String = addresses.iter().map(|(name, at)| buffer(name, at)).collect();
    format!(
        "exchange.program @main on [0:4] {{
  exchange.binding @x input : tensor<256xui8>
  exchange.binding @w weight : tensor<256xui8>
  exchange.binding @y output : tensor<256xui8>
{buffers}  exchange.load_host @w -> %w once (t) in (4) on t image [64*t : +64]
  exchange.load_host @x -> %x (t) in (4) on t image [64*t : +64]
{steps}
  exchange.store_host %y -> @y (t) in (4) on t image [64*t : +64]
}}
"
    )
}

fn read(module: &Module) -> Program {
    let program = Program::read(module, main_program(module).unwrap());
    program.unwrap_or_else(|found| panic!("{}", found.render(&module.sources)))
}

fn outputs(module: &Module) -> Vec<Vec<u8>> {
    let image = |salt: u32| (0..256u32).map(|byte| (byte * 7 + salt) as u8).collect();
    let outputs = run_program(&read(module), &[image(1), image(2), Vec::new()], Timing::Bulk);
    outputs.unwrap_or_else(|fault| panic!("{}", fault.message))
}

/// The phases after the pass, each as its name and number of transfers, for a program that still does the same.
fn optimized(text: &str) -> Vec<(String, usize)> {
    let mut module = parse("main.ir", text);
    let wanted = outputs(&module);
    let done = run(&mut module, "optimize-exchanges");
    assert_eq!(done.diagnostics.render(&module.sources), "");
    assert_eq!(outputs(&module), wanted);
    let once = printed(&module);
    run(&mut module, "optimize-exchanges");
    assert_eq!(printed(&module), once, "a second run changes nothing");
    read(&module).phases().map(|phase| (phase.name.clone(), phase.transfers.len())).collect()
}

const RING: &str = "exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 1) mod 4] into %y[0 : +64]";

#[test]
fn what_nothing_reads_is_not_moved() {
    let dead = "exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 2) mod 4] into %z[0 : +64]";
    let text = program(&format!("  exchange.phase @p {{\n    {RING}\n    {dead}\n  }}"), "");
    assert_eq!(optimized(&text), [("p".into(), 4)]);
    // A phase that only feeds a dead one goes too.
    let onwards = "exchange.copy (t) in (4) : %z[0 : +64] from t to [(t + 1) mod 4] into %x[0 : +64]";
    let text = program(
        &format!(
            "  exchange.phase @p {{\n    {RING}\n  }}\n  exchange.phase @q {{\n    {dead}\n  }}\n  exchange.phase @r {{\n    {onwards}\n  }}"
        ),
        "placed",
    );
    assert_eq!(optimized(&text), [("p".into(), 4)]);
}

#[test]
fn what_the_next_iteration_or_the_next_call_reads_is_moved() {
    let there = "exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 1) mod 4] into %y[0 : +64]";
    let back = "exchange.copy (t) in (4) : %y[0 : +64] from t to [(t + 3) mod 4] into %x[0 : +64]";
    let steps = format!(
        "  exchange.repeat 2 {{\n    exchange.phase @there {{\n      {there}\n    }}\n    exchange.phase @back {{\n      {back}\n    }}\n  }}"
    );
    assert_eq!(optimized(&program(&steps, "")), [("there".into(), 4), ("back".into(), 4)]);
    let carried = "exchange.copy (t) in (4) : %w[0 : +64] from t to [(t + 1) mod 4] into %y[0 : +64]";
    let update = "exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 1) mod 4] into %w[0 : +64]";
    let steps = format!(
        "  exchange.phase @use {{\n    {carried}\n  }}\n  exchange.phase @update {{\n    {update}\n  }}"
    );
    assert_eq!(optimized(&program(&steps, "")), [("use".into(), 4), ("update".into(), 4)]);
}

#[test]
fn runs_that_follow_each_other_are_one_and_one_source_is_sent_once() {
    let halves =
        "exchange.copy (t, h) in (4, 2) : %x[32*h : +32] from t to [(t + 1) mod 4] into %y[32*h : +32]";
    assert_eq!(
        optimized(&program(&format!("  exchange.phase @p {{\n    {halves}\n  }}"), "")),
        [("p".into(), 4)]
    );
    let swapped = halves.replace("into %y[32*h : +32]", "into %y[32 - 32*h : +32]");
    assert_eq!(
        optimized(&program(&format!("  exchange.phase @p {{\n    {swapped}\n  }}"), "")),
        [("p".into(), 4)]
    );
    let twice = "exchange.copy (r) in (3) : %x[0 : +64] from 0 to [r + 1] into %y[0 : +64]
    exchange.copy (r) in (1) : %x[0 : +64] from 1 to [0] into %y[0 : +64]";
    assert_eq!(
        optimized(&program(&format!("  exchange.phase @p {{\n    {twice}\n  }}"), "")),
        [("p".into(), 2)]
    );
}

const TWO_PHASES: &str = "  exchange.phase @p {
    exchange.copy (t) in (4) : %x[0 : +32] from t to [(t + 1) mod 4] into %y[0 : +32]
  }
  exchange.phase @q {
    exchange.copy (t) in (4) : %w[32 : +32] from t to [(t + 2) mod 4] into %y[32 : +32]
  }";

#[test]
fn phases_that_do_not_meet_become_one_unless_addresses_keep_them_apart() {
    assert_eq!(optimized(&program(TWO_PHASES, "")), [("p".into(), 8)]);
    assert_eq!(optimized(&program(TWO_PHASES, "placed")), [("p".into(), 4), ("q".into(), 4)]);
    let second_reads_first =
        TWO_PHASES.replace("%x[0", "%w[0").replace("into %y[0 : +32]", "into %z[0 : +32]");
    let second_reads_first = second_reads_first.replace("%w[32 : +32] from", "%z[0 : +32] from");
    let rest = "  exchange.phase @r {\n    exchange.copy (t) in (4) : %x[0 : +32] from t to [(t + 1) mod 4] into %y[0 : +32]\n  }";
    let text = program(&format!("{second_reads_first}\n{rest}"), "");
    assert_eq!(optimized(&text), [("p".into(), 4), ("q".into(), 8)]);
}

#[test]
fn fuel_limits_rewrites() {
    let phases = |fuel| {
        let mut module = parse("main.ir", &program(TWO_PHASES, ""));
        let source = module.span(module.root());
        let pipeline = Pipeline::parse("optimize-exchanges").unwrap();
        let resolved = ResolvedPipeline::new(&pipeline, |_| source).unwrap();
        let options = ManagerOptions { fuel: Some(fuel), ..ManagerOptions::default() };
        resolved.run(&mut module, &options, Artifacts::default(), &mut Silent);
        read(&module).phases().count()
    };
    assert_eq!([phases(0), phases(1)], [2, 1]);
}

#[test]
fn rewritten_copies_keep_their_places() {
    let mut module = parse("main.ir", &program(TWO_PHASES, ""));
    run(&mut module, "optimize-exchanges");
    let fused = read(&module);
    let mut lines: Vec<u32> = fused
        .phases()
        .flat_map(|phase| &phase.transfers.op)
        .map(|&op| module.sources.locate(module.span(op)).unwrap().1.line)
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [12, 12, 12, 12, 15, 15, 15, 15]);
}
