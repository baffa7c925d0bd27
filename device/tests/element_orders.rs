//! Element orders: bijections, inverses, and equality with the formulas of the hardware notes written loop by loop.

use ipu_device::orders::{ElementOrder, GatherMap, MatrixShape, OrderCode};
use proptest::prelude::*;

/// Row and column of every storage index, by nested loops in the words of the notes.
fn enumerated(order: ElementOrder, shape: MatrixShape) -> Vec<(u32, u32)> {
    let MatrixShape { rows, columns } = shape;
    let swapped = |order: ElementOrder| {
        enumerated(order, shape.transposed()).into_iter().map(|(row, column)| (column, row)).collect()
    };
    let mut cells = Vec::new();
    match order {
        ElementOrder::RowMajor => {
            for row in 0..rows {
                for column in 0..columns {
                    cells.push((row, column));
                }
            }
        }
        ElementOrder::AmpLeft { inner } => {
            for panel in (0..columns).step_by(inner as usize) {
                for row in 0..rows {
                    for column in 0..inner {
                        cells.push((row, panel + column));
                    }
                }
            }
        }
        ElementOrder::AmpRight { inner } => {
            for column_group in (0..columns).step_by(16) {
                for row_group in (0..rows).step_by(inner as usize) {
                    for column in 0..16 {
                        for row in 0..inner {
                            cells.push((row_group + row, column_group + column));
                        }
                    }
                }
            }
        }
        ElementOrder::BlockMajor { rows: block_rows, columns: block_columns, inner } => {
            for block in (0..rows).step_by(block_rows as usize) {
                for column_group in (0..columns).step_by(block_columns as usize) {
                    for row_group in (0..block_rows).step_by(inner as usize) {
                        for column in 0..block_columns {
                            for row in 0..inner {
                                cells.push((block + row_group + row, column_group + column));
                            }
                        }
                    }
                }
            }
        }
        ElementOrder::ColumnMajor
        | ElementOrder::TransposedLeft { .. }
        | ElementOrder::TransposedRight { .. }
        | ElementOrder::TransposedBlockMajor { .. } => return swapped(order.transposed()),
    }
    cells
}

fn orders() -> impl Strategy<Value = ElementOrder> {
    let inner = prop::sample::select(vec![8_u32, 16, 32]);
    let plain = prop_oneof![
        Just(ElementOrder::RowMajor),
        inner.clone().prop_map(|inner| ElementOrder::AmpLeft { inner }),
        inner.clone().prop_map(|inner| ElementOrder::AmpRight { inner }),
        (inner, 1..4_u32, 1..20_u32).prop_map(|(inner, groups, columns)| ElementOrder::BlockMajor {
            rows: inner * groups,
            columns,
            inner
        }),
    ];
    (plain, any::<bool>()).prop_map(|(order, transpose)| if transpose { order.transposed() } else { order })
}

proptest! {
    #[test]
    fn a_map_is_a_bijection_and_equals_the_loops(order in orders(), rows in 1..70_u32, columns in 1..70_u32) {
        let shape = order.padded_shape(MatrixShape::new(rows, columns)).expect("small");
        let map = order.map(shape).expect("padded shapes fit");
        let cells: Vec<_> = map.coordinates().collect();
        prop_assert_eq!(&cells, &enumerated(order, shape));
        let mut seen = vec![false; cells.len()];
        for (index, &(row, column)) in (0_u32..).zip(&cells) {
            prop_assert_eq!(map.index_of(row, column), Some(index));
            prop_assert!(!std::mem::replace(&mut seen[(row * shape.columns + column) as usize], true));
        }
        prop_assert_eq!(map.index_of(shape.rows, 0), None);
        prop_assert_eq!(map.coordinate_of(map.elements()), None);
        let stored = map.storage_indices();
        prop_assert!((0..shape.rows).all(|row| (0..shape.columns).all(|column|
            Some(stored[(row * shape.columns + column) as usize]) == map.index_of(row, column))));
    }

    #[test]
    fn padding_is_least_and_needed(order in orders(), rows in 1..70_u32, columns in 1..70_u32) {
        let shape = MatrixShape::new(rows, columns);
        let padded = order.padded_shape(shape).expect("small");
        prop_assert!(order.check(padded).is_ok());
        prop_assert_eq!(order.check(shape).is_ok(), padded == shape);
        let grain = order.grain();
        prop_assert!(padded.rows - rows < grain.rows && padded.columns - columns < grain.columns);
    }

    #[test]
    fn gathering_there_and_back_changes_nothing(from in orders(), to in orders(), rows in 1..40_u32, columns in 1..40_u32) {
        let shape = MatrixShape::new(rows, columns);
        let source = from.map(from.padded_shape(shape).expect("small")).expect("fits");
        let target = to.map(to.padded_shape(shape).expect("small")).expect("fits");
        // Each element carries its coordinate; padding of the source carries 0 and is lost on the way.
        let stored: Vec<u32> = source
            .coordinates()
            .map(|(row, column)| if row < rows && column < columns { 1 + row * columns + column } else { 0 })
            .collect();
        let there = source.gather_map(&target).apply(&stored, 0);
        for (index, value) in (0..).zip(&there) {
            let (row, column) = target.coordinate_of(index).expect("inside");
            let wanted = if row < rows && column < columns { 1 + row * columns + column } else { 0 };
            prop_assert_eq!(*value, wanted);
        }
        prop_assert_eq!(target.gather_map(&source).apply(&there, 0), stored);
    }

    #[test]
    fn names_print_and_parse(order in orders()) {
        prop_assert_eq!(order.to_string().parse::<ElementOrder>(), Ok(order));
        prop_assert_eq!(ElementOrder::from_parts(order.kind_name(), &order.parameters()), Ok(order));
    }
}

#[test]
fn names_read_as_in_the_language() {
    let block = ElementOrder::BlockMajor { rows: 64, columns: 16, inner: 16 };
    assert_eq!(block.to_string(), "block_major<64, 16>");
    assert_eq!(block.with_inner(32).to_string(), "block_major<64, 16, 32>");
    assert_eq!("amp_left<16>".parse(), Ok(ElementOrder::AmpLeft { inner: 16 }));
    assert_eq!("row_major".parse(), Ok(ElementOrder::RowMajor));
    for (text, code) in [
        ("amp_lefft<16>", OrderCode::UnknownOrder),
        ("amp_left<16", OrderCode::UnknownOrder),
        ("amp_left<x>", OrderCode::UnknownOrder),
        ("amp_left", OrderCode::BadParameter),
        ("amp_left<15>", OrderCode::BadParameter),
        ("block_major<24, 16>", OrderCode::BadParameter),
        ("block_major<64, 0>", OrderCode::BadParameter),
    ] {
        assert_eq!(text.parse::<ElementOrder>().map_err(|error| error.code), Err(code), "{text}");
    }
}

#[test]
fn one_row_block_of_streamed_coefficients_is_an_amp_right_matrix() {
    let block = ElementOrder::BlockMajor { rows: 64, columns: 16, inner: 16 }
        .map(MatrixShape::new(64, 48))
        .expect("fits");
    let right = ElementOrder::AmpRight { inner: 16 }.map(MatrixShape::new(64, 48)).expect("fits");
    assert!(block.agrees_with(&right));
    let left = ElementOrder::AmpLeft { inner: 16 }.map(MatrixShape::new(64, 48)).expect("fits");
    assert!(!left.agrees_with(&right));
    assert!(right.gather_map(&block).is_identity());
}

#[test]
fn a_panel_width_of_another_precision_is_another_order() {
    let shape = MatrixShape::new(16, 64);
    let narrow = ElementOrder::AmpLeft { inner: 16 }.map(shape).expect("fits");
    let wide = ElementOrder::AmpLeft { inner: 32 }.map(shape).expect("fits");
    assert!(!narrow.agrees_with(&wide));
    assert_eq!(narrow.coordinate_of(16), Some((1, 0)));
    assert_eq!(wide.coordinate_of(16), Some((0, 16)));
    assert!(!narrow.gather_map(&wide).sources().contains(&GatherMap::PADDING));
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_the_padded_shape() {
    let error =
        ElementOrder::AmpRight { inner: 32 }.check(MatrixShape::new(48, 16)).expect_err("48 is no multiple");
    assert_eq!(error.code, OrderCode::ShapeMismatch);
    assert!(error.message.contains("pad it to 64x16"), "{error}");
    assert!(ElementOrder::RowMajor.check(MatrixShape::new(1 << 17, 1 << 17)).is_err());
    assert!(ElementOrder::AmpLeft { inner: 8 }.check(MatrixShape::new(u32::MAX, u32::MAX)).is_err());
}
