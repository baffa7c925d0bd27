//! Layouts against naive coordinate loops.

use ipu_device::memory_map::MemoryClass;
use ipu_device::orders::ElementOrder;
use ipu_device::{Bytes, LogicalTile};
use proptest::prelude::*;

use super::*;
use crate::ipu::AffineExpr;

const LEFT16: ElementOrder = ElementOrder::AmpLeft { inner: 16 };
const LEFT32: ElementOrder = ElementOrder::AmpLeft { inner: 32 };

/// Shard number plus `base`, spread by an odd stride over 64 tiles.
fn layout(split: &[u32], grain: &[u32], replicas: Replicas, order: ElementOrder, stride: i64) -> Layout {
    let names = ["a", "b", "c", "d"];
    let rank = split.len() + usize::from(replicas != Replicas::One);
    let mut number = AffineExpr::constant(0);
    for (axis, &parts) in split.iter().enumerate() {
        number = number.times(&AffineExpr::constant(i64::from(parts))).plus(&AffineExpr::id(axis as u16));
    }
    if replicas != Replicas::One {
        number = number
            .times(&AffineExpr::constant(i64::from(replicas.count())))
            .plus(&AffineExpr::id(split.len() as u16));
    }
    let tile = number.times(&AffineExpr::constant(stride)).modulo(1021).expect("positive").simplified();
    Layout {
        split: split.to_vec(),
        grain: grain.to_vec(),
        replicas,
        tiles: TileMap::new(&names[..rank], tile),
        order,
        pad: Padding::Zero,
        memory: MemoryClass::Standard,
    }
}

/// A random layout of a tensor of this shape in an order that suits `width` bytes.
fn any_layout(shape: Vec<u32>, width: u32) -> impl Strategy<Value = Layout> {
    let inner = 32 / width;
    let rank = shape.len();
    let orders = [
        (ElementOrder::RowMajor, 1, 4 / width),
        (ElementOrder::AmpLeft { inner }, 1, inner),
        (ElementOrder::AmpRight { inner }, inner, 16),
    ];
    let parts = proptest::collection::vec(1u32..5, rank);
    let wide = proptest::collection::vec(1u32..3, rank);
    let kinds = if rank == 1 { 2 } else { orders.len() };
    (parts, wide, 1u32..4, 0..kinds, prop_oneof![Just(1i64), Just(7), Just(300)]).prop_map(
        move |(parts, wide, copies, kind, stride)| {
            let (order, rows, columns) = orders[kind];
            let mut grain = wide;
            let last = grain.len() - 1;
            grain[last] *= columns;
            if last > 0 {
                grain[last - 1] *= rows;
            }
            let replicas = if copies == 1 { Replicas::One } else { Replicas::Copies(copies) };
            layout(&parts, &grain, replicas, order, stride)
        },
    )
}

fn shapes() -> impl Strategy<Value = (Vec<u32>, u32)> {
    (proptest::collection::vec(1u32..40, 1..4), prop_oneof![Just(1u32), Just(2), Just(4)])
}

/// Element `i` of a tensor holds the number `i + 1`, cut to its width.
fn numbered(count: u64, width: u32) -> Vec<u8> {
    (1..=count).flat_map(|i| i.to_le_bytes().into_iter().take(width as usize).collect::<Vec<_>>()).collect()
}

fn all_coordinates(shape: &[u32]) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|prefix: Vec<u32>| (0..extent).map(move |i| [prefix.clone(), vec![i]].concat()))
            .collect();
    }
    all
}

#[test]
fn the_worked_example_lies_as_printed() {
    let home = layout(&[4, 1], &[], Replicas::One, LEFT16, 1).place(&[32, 64], 2).expect("legal");
    assert_eq!(home.shard_bytes(3), Bytes(1024));
    let block = layout(&[2, 2], &[], Replicas::One, LEFT16, 1).place(&[32, 64], 2).expect("legal");
    let moves = transfers(&home, &block).expect("whole words");
    let run = |source: u16, from: u32, to: u16, into: u32| Run {
        source: LogicalTile(source),
        source_offset: Bytes(from),
        destinations: [LogicalTile(to)].into_iter().collect(),
        destination_offset: Bytes(into),
        bytes: Bytes(256),
    };
    let mut remote = moves.remote;
    remote.sort_unstable();
    let expected = [
        run(0, 512, 1, 0),
        run(0, 768, 1, 512),
        run(1, 0, 0, 256),
        run(1, 256, 0, 768),
        run(2, 512, 3, 0),
        run(2, 768, 3, 512),
        run(3, 0, 2, 256),
        run(3, 256, 2, 768),
    ];
    assert_eq!(remote, expected);
    let first = LocalRun {
        tile: LogicalTile(0),
        source_offset: Bytes(0),
        destination_offset: Bytes(0),
        bytes: Bytes(256),
    };
    assert_eq!(moves.local.first(), Some(&first));
    assert_eq!(moves.local.len(), 8);
}

#[test]
fn the_grid_of_the_worked_example_is_derived() {
    let lhs = layout(&[2, 2], &[], Replicas::One, LEFT32, 1).place(&[32, 64], 1).expect("legal");
    let mut weights = layout(&[2, 1], &[], Replicas::Copies(2), ElementOrder::AmpRight { inner: 32 }, 1);
    weights.tiles = TileMap::new(
        &["k", "n", "c"],
        AffineExpr::constant(2).times(&AffineExpr::id(2)).plus(&AffineExpr::id(0)),
    );
    let rhs = weights.place(&[64, 16], 1).expect("legal");
    let result = layout(&[2, 1], &[], Replicas::Partial(2), LEFT16, 1).place(&[32, 16], 2).expect("legal");
    let grid = GemmGrid::derive(&lhs, &rhs, &result).expect("one grid");
    assert_eq!((grid.m, grid.n, grid.k), (2, 1, 2));
    let at = |tile, m, k| GridTile { tile: LogicalTile(tile), m, n: 0, k };
    assert_eq!(grid.tiles, [at(0, 0, 0), at(1, 0, 1), at(2, 1, 0), at(3, 1, 1)]);

    weights.replicas = Replicas::One;
    weights.tiles.ids.pop();
    weights.tiles.expression = AffineExpr::id(0);
    let alone = weights.place(&[64, 16], 1).expect("legal");
    let error = GemmGrid::derive(&lhs, &alone, &result).expect_err("one copy for two row blocks");
    assert_eq!(error.code, LayoutCode::Grid);
}

#[test]
fn errors_name_what_is_wrong() {
    let twice = Layout {
        tiles: TileMap::new(&["m", "k"], AffineExpr::id(0)),
        ..layout(&[2, 2], &[], Replicas::One, ElementOrder::RowMajor, 1)
    };
    assert_eq!(twice.place(&[4, 4], 4).expect_err("tile 0 twice").code, LayoutCode::TileTwice);
    let odd = layout(&[1, 1], &[], Replicas::One, LEFT16, 1);
    assert_eq!(odd.place(&[4, 10], 2).expect_err("10 is no multiple of 16").code, LayoutCode::Order);
    let far = Layout {
        tiles: TileMap::new(&["m", "k"], AffineExpr::constant(1472).plus(&AffineExpr::id(0))),
        ..layout(&[1, 1], &[], Replicas::One, ElementOrder::RowMajor, 1)
    };
    assert_eq!(far.place(&[4, 4], 4).expect_err("tile 1472").code, LayoutCode::Tile);
    let huge = layout(&[1, 1], &[], Replicas::One, ElementOrder::RowMajor, 1);
    assert_eq!(huge.place(&[u32::MAX, u32::MAX], 4).expect_err("2^66 bytes").code, LayoutCode::Count);
    assert_eq!(huge.place(&[4], 4).expect_err("rank").code, LayoutCode::Rank);
    let whole = huge.place(&[4, 4], 4).expect("legal");
    assert_eq!(whole.pack(&[0; 63]).expect_err("a byte is missing").code, LayoutCode::Bytes);
    assert_eq!(whole.unpack(&[[0; 63]]).expect_err("a byte is missing").code, LayoutCode::Bytes);
    let partial = layout(&[1, 1], &[], Replicas::Partial(2), ElementOrder::RowMajor, 1);
    let partial = partial.place(&[4, 4], 4).expect("legal");
    assert_eq!(partial.pack(&[0; 64]).expect_err("partial").code, LayoutCode::Partial);

    let columns =
        layout(&[1, 4], &[], Replicas::One, ElementOrder::RowMajor, 1).place(&[3, 4], 2).expect("legal");
    let rows =
        layout(&[3, 1], &[], Replicas::One, ElementOrder::RowMajor, 1).place(&[3, 4], 2).expect("legal");
    let error = transfers(&columns, &rows).expect_err("single f16 elements");
    assert_eq!(error.code, LayoutCode::SubWord);
    assert!(error.message.contains("grain of 2 elements"), "{}", error.message);
}

#[test]
fn the_text_reads_as_the_grammar() {
    let text = layout(&[2, 1], &[1, 32], Replicas::Copies(2), LEFT32, 1).to_string();
    assert_eq!(
        text,
        "#mapped.layout<split = [2, 1], grain = [1, 32], copies = 2, tiles = (a, b, c) -> (((0*2 + a)*1 + b)*2 + c) \
         mod 1021, order = amp_left<32>, pad = zero, memory = standard>"
            .replace("(((0*2 + a)*1 + b)*2 + c) mod 1021", "((a + b)*2 + c) mod 1021")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_element_has_one_place((shape, width, layout) in shapes().prop_flat_map(|(shape, width)| {
        let layout = any_layout(shape.clone(), width);
        (Just(shape), Just(width), layout)
    })) {
        let placement = layout.place(&shape, width).expect("legal by construction");
        let mut places = std::collections::BTreeSet::new();
        for coordinates in all_coordinates(&shape) {
            let (shard, element) = placement.locate(&coordinates).expect("inside");
            prop_assert!(places.insert((shard, element)));
            prop_assert!(element * width < placement.shard_bytes(shard).0);
            let back = placement.coordinates(shard, element).expect("no padding");
            prop_assert_eq!(back.as_slice(), coordinates.as_slice());
        }
        let stored: usize = (0..placement.shard_count())
            .step_by(layout.replicas.count() as usize)
            .map(|shard| (0..placement.shard_bytes(shard).0 / width)
                .filter(|&element| placement.coordinates(shard, element).is_some()).count())
            .sum();
        prop_assert_eq!(stored, places.len());
        for (shard, &tile) in (0u32..).zip(placement.tiles()) {
            prop_assert_eq!(placement.shard_on(tile), Some(shard));
            let at = placement.shard(shard);
            prop_assert_eq!(placement.shard_number(&at.parts, at.replica), shard);
        }
    }

    #[test]
    fn packing_puts_each_element_where_locate_says((shape, width, layout) in shapes().prop_flat_map(|(shape, width)| {
        let layout = any_layout(shape.clone(), width);
        (Just(shape), Just(width), layout)
    })) {
        let placement = layout.place(&shape, width).expect("legal by construction");
        let logical = numbered(placement.logical_bytes() / u64::from(width), width);
        let shards = placement.pack(&logical).expect("right length");
        for (index, coordinates) in all_coordinates(&shape).into_iter().enumerate() {
            let (shard, element) = placement.locate(&coordinates).expect("inside");
            let size = width as usize;
            let (at, from) = (element as usize * size, index * size);
            for copy in 0..layout.replicas.count() {
                prop_assert_eq!(&shards[(shard + copy) as usize][at..at + size], &logical[from..from + size]);
            }
        }
        prop_assert_eq!(placement.unpack(&shards).expect("right lengths"), logical);
    }

    #[test]
    fn a_conversion_moves_every_element_once((shape, width, from, to) in shapes().prop_flat_map(|(shape, width)| {
        let (from, to) = (any_layout(shape.clone(), width), any_layout(shape.clone(), width));
        (Just(shape), Just(width), from, to)
    })) {
        let (from, to) = (from.place(&shape, width).expect("legal"), to.place(&shape, width).expect("legal"));
        let moves = match transfers(&from, &to) {
            Ok(moves) => moves,
            Err(error) => {
                prop_assert_eq!(error.code, LayoutCode::SubWord);
                return Ok(());
            }
        };
        let logical = numbered(from.logical_bytes() / u64::from(width), width);
        let source = from.pack(&logical).expect("right length");
        let mut shards: Vec<Vec<Option<u8>>> =
            (0..to.shard_count()).map(|shard| vec![None; to.shard_bytes(shard).0 as usize]).collect();
        let mut write = |tile: LogicalTile, from_tile: LogicalTile, from_at: Bytes, at: Bytes, bytes: Bytes| {
            let shard = from.shard_on(from_tile).expect("source holds a shard") as usize;
            let target = &mut shards[to.shard_on(tile).expect("destination holds a shard") as usize];
            for i in 0..bytes.0 as usize {
                let slot = &mut target[at.0 as usize + i];
                assert!(slot.is_none(), "byte written twice");
                *slot = Some(source[shard][from_at.0 as usize + i]);
            }
        };
        for run in &moves.remote {
            prop_assert!(!run.destinations.contains(&run.source));
            for &tile in &run.destinations {
                write(tile, run.source, run.source_offset, run.destination_offset, run.bytes);
            }
        }
        for run in &moves.local {
            write(run.tile, run.tile, run.source_offset, run.destination_offset, run.bytes);
        }
        for &(tile, at, bytes) in &moves.fill {
            let target = &mut shards[to.shard_on(tile).expect("destination holds a shard") as usize];
            for slot in &mut target[at.0 as usize..(at.0 + bytes.0) as usize] {
                prop_assert!(slot.replace(0).is_none());
            }
        }
        let expected = to.pack(&logical).expect("right length");
        for (shard, wanted) in shards.into_iter().zip(expected) {
            let shard: Vec<u8> = shard.into_iter().map(|byte| byte.expect("every byte written")).collect();
            prop_assert_eq!(shard, wanted);
        }
    }
}
