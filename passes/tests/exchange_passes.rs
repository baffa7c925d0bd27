//! The passes from an exchange program to a scheduled and placed one: the same bytes by events as in bulk, the same
//! text every time, no change where there is nothing to do.

use std::fs;
use std::path::{Path, PathBuf};

use crate::pass_runs::{parse, printed, run};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, image_bytes, run_program};
use ipu_dialects::ir::Module;
use ipu_passes::manager::state::main_program;
use ipu_passes::manager::{Run, RunFailure, State};

const OPTIMIZED: &str = "optimize-exchanges";
const SCHEDULED: &str = "schedule-exchanges";
const PLACED: &str = "schedule-exchanges,place-storage";
const ALL: &str = "optimize-exchanges,schedule-exchanges,place-storage";
const IMPROVED: &str = "optimize-exchange-placement";

fn sample_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir")
}

/// All samples of programs from graph to exchange level, by path.
fn samples() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["seed", "repro", "gemm", "example"] {
        for entry in fs::read_dir(sample_folder().join(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap());
            if name.ends_with(".ir") {
                let text = fs::read_to_string(sample_folder().join(&name)).unwrap();
                if !text.contains("tile.program") {
                    found.push((name, text));
                }
            }
        }
    }
    found.sort();
    found
}

/// The sample as an exchange program without times and addresses.
fn expanded(name: &str, text: &str) -> Module {
    let mut module = parse(name, text);
    let states = State::of(&module);
    let passes = if states.contains(&State::Graph) {
        "canonicalize,select-plans,expand-plans"
    } else if states.contains(&State::Mapped) {
        "expand-plans"
    } else {
        return parse(name, &without_state(&module));
    };
    succeed(&mut module, passes);
    module
}

/// The text of an exchange program without `send` and `at`.
fn without_state(module: &Module) -> String {
    let mut text = String::new();
    for line in printed(module).lines() {
        let line = line.split(" send [").next().unwrap();
        text.push_str(line.split(" at 0x").next().unwrap());
        text.push('\n');
    }
    text
}

fn succeed(module: &mut Module, passes: &str) -> Run {
    let done = run(module, passes);
    assert_eq!(done.diagnostics.render(&module.sources), "", "{}", printed(module));
    done
}

fn program(module: &Module) -> Program {
    let program = Program::read(module, main_program(module).unwrap());
    program.unwrap_or_else(|found| panic!("{}", found.render(&module.sources)))
}

/// The outputs for images of bytes that follow no pattern.
fn outputs(program: &Program, timing: Timing) -> Vec<Vec<u8>> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let images: Vec<Vec<u8>> = (0..program.bindings.len())
        .map(|binding| (0..image_bytes(program, binding)).map(&mut byte).collect())
        .collect();
    let outputs = run_program(program, &images, timing);
    outputs.unwrap_or_else(|fault| panic!("{}", fault.message))
}

#[test]
fn every_sample_gives_the_same_bytes_by_events_as_in_bulk() {
    for (name, text) in samples() {
        let mut module = expanded(&name, &text);
        let wanted = outputs(&program(&module), Timing::Bulk);
        succeed(&mut module, ALL);
        let made = program(&module);
        assert!(made.is_scheduled() && made.is_placed(), "{name}");
        assert!(outputs(&made, Timing::Events) == wanted, "{name}");
    }
}

#[test]
fn a_finished_program_stays_as_it_is_and_the_same_text_comes_every_time() {
    for (name, text) in samples() {
        let mut module = expanded(&name, &text);
        let start = printed(&module);
        succeed(&mut module, ALL);
        let finished = printed(&module);
        succeed(&mut module, &format!("{ALL},{IMPROVED}"));
        assert_eq!(printed(&module), finished, "{name} again");
        let mut other = parse(&name, &start);
        succeed(&mut other, ALL);
        assert_eq!(printed(&other), finished, "{name} from its text");
    }
}

#[test]
fn no_phase_is_shorter_than_its_bound_or_much_longer() {
    for (name, text) in samples() {
        let mut module = expanded(&name, &text);
        let done = succeed(&mut module, SCHEDULED);
        let figure = |key| done.statistics.last("schedule-exchanges", key).unwrap().as_i64().unwrap();
        let (events, bound) = (figure("events"), figure("bound"));
        assert!(bound <= events && 4 * events <= 5 * bound, "{name}: {events} events, bound {bound}");
        let again = succeed(&mut module, SCHEDULED);
        let kept = again.statistics.last("schedule-exchanges", "events").unwrap().as_i64();
        assert_eq!(kept, Some(events), "{name}: the length of a kept schedule is that of the made one");
    }
}

fn seed(passes: &str) -> String {
    let text = fs::read_to_string(sample_folder().join("seed/gemm_f8.ir")).unwrap();
    let mut module = parse("gemm_f8.ir", &text);
    succeed(&mut module, "canonicalize,select-plans{plan=grid=8x4x2 prices=recorded},expand-plans");
    succeed(&mut module, passes);
    printed(&module)
}

#[test]
fn the_seed_case_optimized() {
    insta::assert_snapshot!(seed(OPTIMIZED));
}

#[test]
fn the_seed_case_scheduled() {
    insta::assert_snapshot!(seed("optimize-exchanges,schedule-exchanges"));
}

#[test]
fn the_seed_case_placed() {
    insta::assert_snapshot!(seed(ALL));
}

/// A program on tiles 0 to 3 with two buffers of `bytes`; `%y` on tile 1 gets what `%x` has on tile 0.
fn two_buffers(bytes: u32, states: [&str; 2], phase: &str) -> String {
    format!(
        "exchange.program @main on [0:4] {{
  exchange.binding @x input : tensor<{count}xui8>
  exchange.binding @y output : tensor<{count}xui8>
  %x = exchange.buffer \"x\" : {bytes} bytes {{memory = standard, align = 32}}{}
  %y = exchange.buffer \"y\" : {bytes} bytes {{memory = standard, align = 32}}{}
  exchange.load_host @x -> %x (t) in (4) on t image [{bytes}*t : +{bytes}]
  exchange.phase @move {{
    {phase}
  }}
  exchange.store_host %y -> @y (t) in (4) on t image [{bytes}*t : +{bytes}]
}}
",
        states[0],
        states[1],
        count = 4 * bytes,
    )
}

#[test]
fn long_transfers_are_cut_into_messages() {
    let ring = "exchange.copy (t) in (4) : %x[0 : +20000] from t to [(t + 1) mod 4] into %y[0 : +20000]";
    let mut module = parse("long.ir", &two_buffers(20000, ["", ""], ring));
    let wanted = outputs(&program(&module), Timing::Bulk);
    let done = succeed(&mut module, PLACED);
    assert_eq!(done.statistics.last("schedule-exchanges", "messages").unwrap().as_u64(), Some(8));
    assert!(outputs(&program(&module), Timing::Events) == wanted);
    assert!(
        program(&module)
            .phases()
            .flat_map(|phase| &phase.transfers.op)
            .all(|&op| { module.span(op) != ipu_dialects::source::Span::NONE })
    );
}

#[test]
fn a_placed_program_is_scheduled_by_its_addresses() {
    let ring = "exchange.copy (t) in (4) : %x[0 : +4000] from t to [(t + 1) mod 4] into %y[0 : +4000]";
    let events = |states| {
        let mut module = parse("ring.ir", &two_buffers(4000, states, ring));
        let done = succeed(&mut module, PLACED);
        let made = program(&module);
        assert!(outputs(&made, Timing::Events) == outputs(&made, Timing::Bulk));
        done.statistics.last("schedule-exchanges", "events").unwrap().as_i64().unwrap()
    };
    let apart = events([" at 0x70000", " at 0x74000"]);
    let together = events([" at 0x70000", " at 0x72000"]);
    assert_eq!(apart, events(["", ""]));
    assert!(together > 2 * 1000 && apart < 1200, "{together} in one element, {apart} in two");
}

#[test]
fn a_schedule_that_new_addresses_break_is_made_again() {
    let ring = "exchange.copy (t) in (4) : %x[0 : +4000] from t to [(t + 1) mod 4] into %y[0 : +4000]";
    let mut module = parse("ring.ir", &two_buffers(4000, [" at 0x70000", " at 0x74000"], ring));
    succeed(&mut module, SCHEDULED);
    let moved = printed(&module).replace("at 0x74000", "at 0x72000");
    let mut module = parse("moved.ir", &moved);
    succeed(&mut module, SCHEDULED);
    assert_ne!(printed(&module), moved);
    let made = program(&module);
    assert!(outputs(&made, Timing::Events) == outputs(&made, Timing::Bulk));
}

const RING_OF_4000: &str =
    "exchange.copy (t) in (4) : %x[0 : +4000] from t to [(t + 1) mod 4] into %y[0 : +4000]";

#[test]
fn storage_moves_where_that_makes_phases_shorter() {
    let together = two_buffers(4000, [" at 0x70000", " at 0x72000"], RING_OF_4000);
    let mut module = parse("ring.ir", &together);
    let done = succeed(&mut module, &format!("{SCHEDULED},{IMPROVED}"));
    let figure = |key| done.statistics.last(IMPROVED, key).unwrap().as_i64().unwrap();
    assert!(figure("events") < 1200 && figure("events_before") > 2000 && figure("moved_buffers") > 0);
    let made = program(&module);
    assert_eq!(made.phases().next().unwrap().transfers.len(), 4);
    assert!(outputs(&made, Timing::Events) == outputs(&made, Timing::Bulk));
    let once = printed(&module);
    succeed(&mut module, &format!("{IMPROVED},{SCHEDULED}"));
    assert_eq!(printed(&module), once);
}

/// Two buffers that share an element wherever they are: nothing else has room for either.
fn crowded(states: [&str; 2]) -> String {
    let ring = "exchange.copy (t) in (4) : %x[196000 : +16000] from t to [(t + 1) mod 4] into %y[0 : +16000]";
    two_buffers(212_000, states, ring).replace(
        "exchange.store_host %y -> @y (t) in (4) on t image [212000*t : +212000]",
        "exchange.store_host %y -> @y (t) in (4) on t bytes [0 : +16000] image [16000*t : +16000]",
    )
}

#[test]
fn storage_stays_where_nothing_can_be_moved_apart() {
    let mut module = parse("crowded.ir", &crowded([" at 0x80000", " at 0xb3c20"]));
    succeed(&mut module, SCHEDULED);
    let before = printed(&module);
    let done = succeed(&mut module, IMPROVED);
    assert_eq!(printed(&module), before);
    let events = done.statistics.last(IMPROVED, "events").unwrap().as_i64().unwrap();
    assert!(events > 2 * 4000, "{events}: sends and receives take turns");
}

#[test]
fn times_that_no_placement_allows_are_dropped_and_made_again() {
    let mut module = parse("crowded.ir", &crowded(["", ""]));
    let done = run(&mut module, PLACED);
    insta::assert_snapshot!(done.diagnostics.render(&module.sources));
    assert_eq!(done.failure, None);
    assert!(!program(&module).is_scheduled() && program(&module).separate.is_empty());
    succeed(&mut module, &format!("{IMPROVED},{SCHEDULED}"));
    let made = program(&module);
    assert!(outputs(&made, Timing::Events) == outputs(&made, Timing::Bulk));
}

fn refused(text: &str, passes: &str) -> String {
    let mut module = parse("main.ir", text);
    let done = run(&mut module, passes);
    assert_eq!(done.failure, Some(RunFailure::CannotCompile), "{}", printed(&module));
    assert_eq!(printed(&module), printed(&parse("main.ir", text)), "a refused program stays as it is");
    done.diagnostics.render(&module.sources)
}

#[test]
fn a_shard_of_half_a_word_has_no_host_moves() {
    let layout = "#mapped.layout<split = [2], tiles = (m) -> m, order = row_major, memory = standard>";
    let ty = format!("tensor<6xf16, {layout}>");
    let text = format!("mapped.func @main(%a: {ty}) -> {ty} {{\n  mapped.return %a : {ty}\n}}\n");
    insta::assert_snapshot!(refused(&text, "expand-plans"), @"main.ir:1:1: error[P0701]: `arg0` has 6 bytes on tile 0, the host moves whole words of 4 bytes; give its layout a `grain` or pad it");
}

#[test]
fn what_cannot_be_scheduled_or_placed_is_named() {
    let own = "exchange.copy (t) in (2) : %x[0 : +64] from 2*t to [2*t, 2*t + 1] into %y[0 : +64]";
    let ring = "exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 1) mod 4] into %y[0 : +64]";
    let loopback = two_buffers(64, [" at 0x70000", " at 0x70100"], own);
    let large = two_buffers(300_000, ["", ""], ring);
    let mut text = String::new();
    text.push_str(&format!("heard by its sender in one element\n{}\n", refused(&loopback, SCHEDULED)));
    text.push_str(&format!("larger than memory\n{}\n", refused(&large, "place-storage")));
    insta::assert_snapshot!(text);
}
