//! When buffers live.

use super::{EXAMPLE, first, module};
use crate::exchange::lifetimes::{Lifetime, Lifetimes};
use crate::exchange::program::{BufferId, Program};

fn hulls(text: &str) -> Vec<Option<Lifetime>> {
    let module = module(text);
    let program = Program::read(&module, first(&module)).expect("the text is right");
    let lifetimes = Lifetimes::of(&program);
    program.buffer_ids().map(|buffer| lifetimes.hull(buffer)).collect()
}

fn steps(first: u32, last: u32) -> Option<Lifetime> {
    Some(Lifetime { first, last })
}

#[test]
fn buffers_live_from_first_access_to_last() {
    // Steps: 0 load b, 1 load a, 2 gather, 3 multiply, 4 scatter, 5 reduce, 6 store.
    let expected = [
        steps(1, 3),
        steps(2, 3),
        steps(3, 3),
        Some(Lifetime::ALWAYS),
        steps(3, 5),
        steps(4, 5),
        steps(5, 6),
    ];
    assert_eq!(hulls(EXAMPLE), expected);
}

/// Steps: 0 load, 1 repeat, 2 to 4 its body, 5 store.
const LOOP: &str = r#"exchange.program @main on [0:2] {
  exchange.binding @x input : tensor<32xf16>
  exchange.binding @y output : tensor<32xf16>
  %x = exchange.buffer "x" : 64 bytes {memory = standard, align = 8}
  %carried = exchange.buffer "carried" : 64 bytes {memory = standard, align = 8}
  %local = exchange.buffer "local" : 64 bytes {memory = standard, align = 8}
  %out = exchange.buffer "out" : 64 bytes {memory = standard, align = 8}
  %unused = exchange.buffer "unused" : 64 bytes {memory = standard, align = 8}
  exchange.load_host @x -> %x (t) in (2) on t image [0 : +64]
  exchange.repeat 3 {
    exchange.compute @a {
      exchange.run on [0:2] : @copy_u64(%local, %x) {dwords = 8}
    }
    exchange.compute @b {
      exchange.run on [0:2] : @copy_u64(%out, %local) {dwords = 8}
    }
    exchange.compute @c {
      exchange.run on [0:2] : @copy_u64(%x, %carried) {dwords = 8}
      exchange.run on [0:2] : @copy_u64(%carried, %out) {dwords = 8}
    }
  }
  exchange.store_host %out -> @y on 0 image [0 : +64]
}
"#;

#[test]
fn what_a_loop_carries_lives_through_its_body() {
    assert_eq!(hulls(LOOP), [steps(0, 4), steps(2, 4), steps(2, 3), steps(3, 5), None]);
}

#[test]
fn tiles_are_told_apart() {
    let text = LOOP.replace("run on [0:2] : @copy_u64(%out", "run on [1] : @copy_u64(%out");
    let module = module(&text);
    let program = Program::read(&module, first(&module)).expect("the text is right");
    let lifetimes = Lifetimes::of(&program);
    let local = BufferId(2);
    assert_eq!((lifetimes.on(local, 0), lifetimes.on(local, 1)), (steps(2, 2), steps(2, 3)));
}
