//! Large phases.

use super::{findings_of, first, module};
use crate::exchange::lifetimes::Lifetimes;
use crate::exchange::meaning::{Timing, run_program};
use crate::exchange::program::{Program, Step};
use crate::exchange::rewrite_phase;
use crate::ir::Name;

/// Every tile sends `words` words, each as a transfer of its own.
fn text(words: u32) -> String {
    format!(
        r#"exchange.program @main on [0:1472] {{
  exchange.binding @x input : tensor<1xi8>
  exchange.binding @y output : tensor<1xi8>
  %x = exchange.buffer "x" : {bytes} bytes {{memory = standard, align = 8}}
  %z = exchange.buffer "z" : {bytes} bytes {{memory = standard, align = 8}}
  exchange.load_host @x -> %x (t) in (1472) on t image [{bytes}*t : +{bytes}]
  exchange.phase @all {{
    exchange.copy (t, w) in (1472, {words}) : %x[4*w : +4] from t to [1471 - t] into %z[{bytes} - 4 - 4*w : +4]
  }}
  exchange.store_host %z -> @y (t) in (1472) on t image [{bytes}*t : +{bytes}]
}}
"#,
        bytes = 4 * words
    )
}

#[test]
fn a_transfer_takes_at_most_64_bytes() {
    let module = module(&text(4));
    let program = Program::read(&module, first(&module)).expect("the text is right");
    let t = &program.phases().next().expect("it has a phase").transfers;
    let row = size_of_val(&t.op[0])
        + size_of_val(&t.member[0])
        + size_of_val(&t.source[0])
        + size_of_val(&t.source_buffer[0])
        + size_of_val(&t.source_offset[0])
        + size_of_val(&t.bytes[0])
        + size_of_val(&t.paired[0])
        + size_of::<u32>()
        + size_of_val(&t.receivers_end[0])
        + size_of_val(&t.receiver[0])
        + size_of_val(&t.receiver_buffer[0])
        + size_of_val(&t.receiver_shift[0])
        + size_of_val(&t.pieces_end[0])
        + size_of_val(&t.pieces[0]);
    assert!(row <= 64, "{row}");
}

#[test]
fn a_large_phase_is_read_checked_run_and_written_as_one_op() {
    let words = 100;
    let mut module = module(&text(words));
    let program = Program::read(&module, first(&module)).expect("the text is right");
    assert_eq!(program.phases().next().map(|phase| phase.transfers.len()), Some(1472 * 100));
    assert_eq!(findings_of(&module), "");
    assert!(Lifetimes::of(&program).hull(program.buffer_ids().next().expect("there is one")).is_some());
    let image: Vec<u8> = (0..1472 * 4 * words).map(|byte| ((byte * 7) >> 3) as u8).collect();
    let outputs = run_program(&program, &[image.clone(), Vec::new()], Timing::Bulk).expect("it runs");
    let reversed: Vec<u8> = image.as_chunks::<4>().0.iter().rev().flatten().copied().collect();
    assert!(outputs[1] == reversed);
    let phase =
        program.steps.iter().find_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
    rewrite_phase(&mut module, &program, phase.expect("it has a phase"), Name::of("test"));
    assert!(
        crate::printer::print_module(&module).contains(&format!("exchange.copy (i, j) in (1472, {words})"))
    );
}
