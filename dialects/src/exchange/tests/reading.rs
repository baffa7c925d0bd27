//! Text as plain data.

use ipu_device::{Address, LogicalTile};

use super::{EXAMPLE, first, module};
use crate::exchange::program::{BufferId, Piece, Program, Slice, Step};

#[test]
fn families_expand_in_row_major_order() {
    let module = module(EXAMPLE);
    let program = Program::read(&module, first(&module)).expect("the example is right");
    let gather = program.phases().next().expect("it has phases");
    let transfers = &gather.transfers;
    let sources: Vec<u16> = transfers.source.iter().map(|tile| tile.0).collect();
    let receivers: Vec<u16> = transfers.receiver.iter().map(|tile| tile.0).collect();
    assert_eq!((gather.name.as_str(), sources, receivers), ("gather", vec![0, 1, 2, 3], vec![1, 0, 3, 2]));
    assert_eq!(transfers.source_offset, [512, 0, 512, 0]);
    assert_eq!(transfers.send, [28, 29, 28, 29]);
    assert_eq!(transfers.pieces(1), [Piece { offset: 256, bytes: 256 }, Piece { offset: 768, bytes: 256 }]);
    assert!(program.is_scheduled() && program.is_placed());
}

#[test]
fn calls_carry_their_kernel_and_slices() {
    let module = module(EXAMPLE);
    let program = Program::read(&module, first(&module)).expect("the example is right");
    let multiply = program.computes().next().expect("it has compute");
    assert_eq!(multiply.runs.len(), 12);
    let copy = &multiply.runs[3];
    assert_eq!((copy.tile, copy.kernel.symbol().as_str()), (LogicalTile(3), "copy_strided_u64"));
    assert_eq!(copy.operands[0], Slice { buffer: BufferId(1), offset: 256, bytes: 768 });
    assert_eq!(copy.scalars.get("rows"), Some(2));
    assert_eq!(program.buffers[1].address(LogicalTile(3)), Some(Address(0x64000)));
}

#[test]
fn the_body_of_a_repeat_follows_it() {
    let text = r#"exchange.program @main on [0:2] {
  %x = exchange.buffer "x" : 8 bytes {memory = standard, align = 8}
  exchange.repeat 2 {
    exchange.phase @a {
    }
    exchange.repeat 3 {
      exchange.compute @b {
      }
    }
  }
  exchange.compute @c {
  }
}
"#;
    let module = module(text);
    let program = Program::read(&module, first(&module)).expect("it is right");
    let bodies: Vec<_> = program
        .steps
        .iter()
        .filter_map(|step| {
            if let Step::Repeat { count, body, .. } = step { Some((*count, body.clone())) } else { None }
        })
        .collect();
    assert_eq!(bodies, [(2, 1..4), (3, 3..4)]);
    assert_eq!(program.steps.len(), 5);
}
