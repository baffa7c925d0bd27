//! What programs compute.

use half::f16;
use ipu_device::LogicalTile;
use ipu_device::kernels::{BufferMemory, Kernel, ScalarValues};

use super::{EXAMPLE, first, module};
use crate::exchange::meaning::{Fault, Machine, MeaningCode, Timing, image_bytes, run_program};
use crate::exchange::program::{BufferId, Program, Run, Step};

fn program(text: &str) -> Program {
    let module = module(text);
    Program::read(&module, first(&module)).expect("the text is right")
}

/// Values of both signs and several magnitudes.
fn halves(count: usize, seed: usize) -> Vec<u8> {
    let value = |index: usize| ((index * 37 + seed * 11) % 29) as f32 / 16.0 - 0.9;
    (0..count).flat_map(|index| f16::from_f32(value(index)).to_le_bytes()).collect()
}

/// FP8 codes that are no NaN.
fn codes(count: usize) -> Vec<u8> {
    (0..count).map(|index| [0x10, 0x91, 0x28, 0xa3, 0x00, 0x33, 0xb9][index * 5 % 7]).collect()
}

/// One kernel on separate vectors: its output.
fn kernel(symbol: &str, scalars: &[(&str, i64)], operands: &[&[u8]], output: usize) -> Vec<u8> {
    let kernel = Kernel::parse(symbol).expect("it exists");
    let scalars = ScalarValues::from_named(kernel.entry(), scalars.iter().copied()).expect("they fit");
    let operands = std::iter::once(vec![0; output]).chain(operands.iter().map(|bytes| bytes.to_vec()));
    let mut memory = BufferMemory::new(operands.collect());
    kernel.run(&scalars, &mut memory).expect("it runs");
    memory.operands.swap_remove(0)
}

/// The block of A on tile `2*m + q` in AMP-left order: panels 2q and 2q + 1 of rows 16m to 16m + 15, taken from the
/// homes of the two tiles with that m. A home is 4 panels of 8 rows of 32 bytes.
fn block(a: &[u8], m: usize, q: usize) -> Vec<u8> {
    let mut block = Vec::new();
    for panel in [2 * q, 2 * q + 1] {
        for home in [2 * m, 2 * m + 1] {
            let start = 1024 * home + 256 * panel;
            block.extend_from_slice(&a[start..start + 256]);
        }
    }
    block
}

#[test]
fn the_example_computes_what_its_kernels_compute() {
    let (a, b) = (halves(32 * 64, 1), codes(64 * 16));
    let outputs =
        run_program(&program(EXAMPLE), &[a.clone(), b.clone(), Vec::new()], Timing::Bulk).expect("it runs");
    let part = |m: usize, q: usize| {
        let mut a8 = kernel(
            "cast_f16_f143_panels",
            &[("elements", 512), ("panel_rows", 16), ("scale", -4)],
            &[&block(&a, m, q)],
            512,
        );
        a8.extend([0; 8]);
        kernel("gemm_f143_f16_k32_c16_r16", &[("product_scale", -8)], &[&a8, &b[512 * q..512 * q + 512]], 512)
    };
    for tile in 0..4 {
        let (m, q) = (tile / 2, tile % 2);
        let (own, other) = (part(m, q), part(m, 1 - q));
        let range = 256 * q..256 * q + 256;
        let sum = kernel(
            "reduce_add_f16",
            &[("remotes", 1), ("elements", 128)],
            &[&own[range.clone()], &other[range]],
            256,
        );
        assert_eq!(outputs[2][256 * tile..256 * tile + 256], sum, "tile {tile}");
    }
    assert!(outputs[2].iter().any(|&byte| byte != 0));
}

#[test]
fn results_do_not_depend_on_threads() {
    let images = [halves(32 * 64, 3), codes(64 * 16), Vec::new()];
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| run_program(&program(EXAMPLE), &images, Timing::Bulk))
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn images_are_as_long_as_host_moves_reach() {
    let program = program(EXAMPLE);
    let sizes: Vec<u64> = (0..3).map(|binding| image_bytes(&program, binding)).collect();
    assert_eq!(sizes, [4096, 1024, 1024]);
    let short = run_program(&program, &[vec![0; 4095], vec![0; 1024], Vec::new()], Timing::Bulk);
    assert_eq!(short.map_err(|fault| fault.code), Err(MeaningCode::ShortImage));
}

/// Two tiles that exchange their values in each of three iterations, then store.
const SWAP: &str = r#"exchange.program @main on [0:2] {
  exchange.binding @x input : tensor<16xi8>
  exchange.binding @y output : tensor<16xi8>
  %x = exchange.buffer "x" : 8 bytes {memory = standard, align = 8}
  %z = exchange.buffer "z" : 8 bytes {memory = standard, align = 8}
  exchange.load_host @x -> %x (t) in (2) on t image [8*t : +8]
  exchange.repeat 3 {
    exchange.phase @swap {
      exchange.copy (t) in (2) : %x[0 : +8] from t to [1 - t] into %z[4 : +4, 0 : +4]
    }
    exchange.compute @back {
      exchange.run on [0:2] : @copy_u64(%x, %z) {dwords = 1}
    }
  }
  exchange.store_host %x -> @y (t) in (2) on t image [8*t : +8]
}
"#;

#[test]
fn phases_swap_and_repeats_repeat() {
    let image: Vec<u8> = (0..16).collect();
    let outputs = run_program(&program(SWAP), &[image, Vec::new()], Timing::Bulk).expect("it runs");
    assert_eq!(outputs[1], [12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]);
}

#[test]
fn steps_can_be_watched() {
    let program = program(SWAP);
    let mut machine = Machine::new(&program, &[(0..16).collect(), Vec::new()]).expect("it fits");
    let mut seen = Vec::new();
    machine
        .run(|machine, step| {
            seen.push((step, machine.bytes(BufferId(0), LogicalTile(0)).map(|bytes| bytes[0])));
        })
        .expect("it runs");
    let steps: Vec<usize> = seen.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [0, 2, 3, 2, 3, 2, 3, 4]);
    assert_eq!(seen[2].1, Some(12));
}

fn fault(text: &str) -> Fault {
    run_program(&program(text), &[(0..16).collect(), Vec::new()], Timing::Bulk).expect_err("it must not run")
}

#[test]
fn unwritten_bytes_are_not_read() {
    let no_load = SWAP.replace(
        "(t) in (2) on t image [8*t : +8]\n  exchange.repeat",
        "on 0 image [0 : +8]\n  exchange.repeat",
    );
    let found = fault(&no_load);
    assert_eq!(
        found.to_string(),
        "read of an unwritten byte: byte 0 of `x` on tile 1 (physical 2) is read, nothing has written it, in member 1"
    );
    let half = SWAP
        .replace(":  %x[0 : +8]", "")
        .replace("%z[4 : +4, 0 : +4]", "%z[4 : +4]")
        .replace("%x[0 : +8] from", "%x[0 : +4] from");
    let found = fault(&half);
    assert_eq!((found.code, found.tile), (MeaningCode::UnwrittenRead, Some(LogicalTile(0))));
    assert!(found.message.starts_with("byte 0 of `z` on tile 0"), "{found}");
}

/// What a run of the example gives where its calls were changed after they were verified.
fn changed_calls(change: impl Fn(&mut Run)) -> MeaningCode {
    let mut program = program(EXAMPLE);
    for step in &mut program.steps {
        if let Step::Compute(compute) = step {
            compute.runs.iter_mut().for_each(&change);
        }
    }
    let images = [halves(32 * 64, 1), codes(64 * 16), Vec::new()];
    run_program(&program, &images, Timing::Bulk).expect_err("it must not run").code
}

#[test]
fn a_program_built_as_data_faults_where_the_verifier_would_refuse_it() {
    let outside = |run: &mut Run| run.operands.iter_mut().for_each(|slice| slice.offset += 1 << 20);
    assert_eq!(changed_calls(outside), MeaningCode::OutsideBuffer);
    let other = Kernel::parse("copy_u64").expect("it exists");
    let scalars = ScalarValues::from_named(other.entry(), [("dwords", 2)]).expect("they fit");
    let foreign = |run: &mut Run| run.scalars = scalars.clone();
    assert_eq!(changed_calls(foreign), MeaningCode::KernelFault);
    let short = [halves(32 * 64 - 2, 1), codes(64 * 16), Vec::new()];
    let found = run_program(&program(EXAMPLE), &short, Timing::Bulk).expect_err("4 bytes are missing");
    assert_eq!(found.code, MeaningCode::ShortImage);
}

#[test]
fn a_right_schedule_gives_the_same_bytes_by_events() {
    let (program, images) = (program(EXAMPLE), [halves(32 * 64, 5), codes(64 * 16), Vec::new()]);
    let bulk = run_program(&program, &images, Timing::Bulk).expect("it runs");
    assert_eq!(run_program(&program, &images, Timing::Events), Ok(bulk));
}

#[test]
fn a_schedule_that_breaks_a_rule_is_a_fault_of_its_transfer() {
    let late = EXAMPLE.replacen("[28, 29, 28, 29]", "[28, 29, 28, 10]", 1);
    let found =
        run_program(&program(&late), &[halves(32 * 64, 5), codes(64 * 16), Vec::new()], Timing::Events);
    let found = found.expect_err("tile 3 starts before the source control of tile 2 can act");
    assert_eq!((found.code, found.member), (MeaningCode::ExchangeFault, Some(3)), "{found}");
}
