//! Text that prints to itself, in both forms.

use super::{EXAMPLE, findings, module};
use crate::printer::{print_generic, print_module};

/// Every op, with every optional part.
const EVERYTHING: &str = r#"exchange.program @main on [0:4, 8] {
  exchange.binding @x input : tensor<64xf16>
  exchange.binding @y output : tensor<64xf16> {my.note = "kept"}
  %x = exchange.buffer "x" : 128 bytes {memory = standard, align = 32} on [0:2, 3]
  %y = exchange.buffer "a \"quoted\" name" : 128 bytes {memory = interleaved, align = 64, tail = 16}
  exchange.separate %x, %y
  exchange.load_host @x -> %x on 0 bytes [0 : +64] image [64 : +64]
  exchange.load_host @x -> %x once (t) in (2) on [1, 3] image [[64, 0] : +64]
  exchange.repeat 3 {
    exchange.phase @inner {
      exchange.copy %x[0 : +64] from 0 to [1, 2] into %y[0 : +32, 64 : +32]
    }
  }
  exchange.phase @columns base {[1] = 0x60000, [2:4] = 0x64000} {
    exchange.copies %x -> %y from [0, 1] offset 0 bytes 64 to [1, 2] into [0, 64] send 30
    exchange.copies %x -> %y, %x from 0 offset 64 bytes 32 receivers 2 to [3, 1] buffer [0, 1] shift [0, 32] pieces 2 into [0, 64] lengths 16 send [95]
  }
  exchange.phase @pairs base 0x60000 {
    exchange.copy (t) in (2) : %y[0 : +32] from t to [2, 3] into %y[64 + 32*t : +32] paired
    exchange.copies %y -> %y from 8 offset 32 bytes 8 receivers 2 to [0, 1] into 96 paired
  }
  exchange.compute @work {
    exchange.run on [0:2, 3] : @fill_zero_u64(%y[0 : +64]) {dwords = 8}
  }
  exchange.store_host %y -> @y (t) in (2) on t image [64*t : +64]
}
"#;

#[test]
fn the_example_prints_to_itself_and_verifies() {
    assert_eq!(print_module(&module(EXAMPLE)), EXAMPLE);
    assert_eq!(findings(EXAMPLE), "");
}

#[test]
fn every_op_prints_to_itself() {
    assert_eq!(print_module(&module(EVERYTHING)), EVERYTHING);
}

#[test]
fn the_generic_form_reads_back_to_the_same() {
    for text in [EXAMPLE, EVERYTHING] {
        let generic = print_generic(&module(text), false);
        assert_eq!(print_generic(&module(&generic), false), generic);
    }
}

#[test]
fn the_generic_form_of_a_copy_is_the_documented_one() {
    let generic = print_generic(&module(EXAMPLE), false);
    let gather = r#""exchange.copy"(%0, %1) {family = #exchange.family<(m, q) in (2, 2), source = [512 - 512*q : +512], from = 2*m + q, to = [2*m + 1 - q], into = [256*q : +256, 512 + 256*q : +256]>, send = array<i64: 28, 29, 28, 29>} : (!exchange.buffer, !exchange.buffer) -> ()"#;
    assert!(generic.contains(gather), "{generic}");
}
