//! Casts, copies, rearrangements, reductions and fill: what they do to elements, checked by coordinate; and what
//! layouts and scalars they refuse.

use ipu_device::kernels::{
    BufferMemory, Family, Kernel, KernelCode, KernelEntry, KernelFault, OrderNeed, ScalarValues, ShardLayout,
};
use ipu_device::numerics::{ElementType, Fp8, Overflow, f16, f16_from_f64};
use ipu_device::orders::{ElementOrder, MatrixShape};
use proptest::prelude::*;

fn bind(entry: &str, operands: &[ShardLayout]) -> Result<(Kernel, ScalarValues), KernelCode> {
    Kernel::bind(KernelEntry::find(entry).expect("known"), operands).map_err(|error| error.code)
}

fn call(symbol: &str, scalars: &[(&str, i64)]) -> Result<(Kernel, ScalarValues), KernelCode> {
    let kernel = Kernel::parse(symbol).map_err(|error| error.code)?;
    let scalars =
        ScalarValues::from_named(kernel.entry(), scalars.iter().copied()).map_err(|error| error.code)?;
    kernel.extents(&scalars).map_err(|error| error.code)?;
    Ok((kernel, scalars))
}

/// Runs a call; the output starts as 0xff bytes.
fn run((kernel, scalars): &(Kernel, ScalarValues), inputs: &[Vec<u8>]) -> Vec<u8> {
    let extents = kernel.extents(scalars).expect("valid call");
    let mut operands = vec![vec![0xff; extents[0].bytes.0 as usize]];
    operands.extend(inputs.iter().cloned());
    let mut memory = BufferMemory::new(operands);
    kernel.run(scalars, &mut memory).expect("whole operands");
    memory.operands.swap_remove(0)
}

fn halves(values: impl IntoIterator<Item = f16>) -> Vec<u8> {
    values.into_iter().flat_map(f16::to_le_bytes).collect()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 37 + index / 256) as u8).collect()
}

/// Every order that the panels cast reads, with shapes in whole 32-wide panels.
fn packed_f16() -> impl Strategy<Value = (ElementOrder, MatrixShape)> {
    let plain = prop_oneof![
        (1..40_u32, 1..4_u32).prop_map(|(rows, panels)| {
            (ElementOrder::AmpLeft { inner: 16 }, MatrixShape::new(rows, 32 * panels))
        }),
        (1..4_u32, 1..4_u32).prop_map(|(groups, columns)| {
            (ElementOrder::AmpRight { inner: 16 }, MatrixShape::new(32 * groups, 16 * columns))
        }),
        (1..3_u32, 1..3_u32, 1..3_u32).prop_map(|(blocks, groups, columns)| {
            let order = ElementOrder::BlockMajor { rows: 32 * groups, columns: 8, inner: 16 };
            (order, MatrixShape::new(32 * groups * blocks, 8 * columns))
        }),
    ];
    (plain, any::<bool>()).prop_map(|((order, shape), transpose)| {
        if transpose { (order.transposed(), shape.transposed()) } else { (order, shape) }
    })
}

proptest! {
    #[test]
    fn the_panels_cast_keeps_every_coordinate((order, shape) in packed_f16(), scale in -8..8_i32) {
        let (from, to) = (order.map(shape).expect("fits"), order.with_inner(32).map(shape).expect("fits"));
        let value = |row: u32, column: u32| f16::from_f64(f64::from(row) * 0.37 - f64::from(column) * 0.11);
        let output = ShardLayout::new(ElementType::F143, to.order(), shape).scaled(scale);
        let input = ShardLayout::new(ElementType::F16, order, shape);
        let cast = bind("cast_f16_f143_panels", &[output, input]).expect("orders agree");
        let stored = run(&cast, &[halves(from.coordinates().map(|(row, column)| value(row, column)))]);
        let wanted: Vec<u8> = to
            .coordinates()
            .map(|(row, column)| Fp8::F143.encode(value(row, column).to_f64(), scale, Overflow::Saturate))
            .collect();
        prop_assert_eq!(stored, wanted);
    }

    #[test]
    fn packing_and_unpacking_keep_every_coordinate(rows in 1..50_u32, columns in 1..50_u32) {
        let plain = ShardLayout::new(ElementType::F16, ElementOrder::RowMajor, MatrixShape::new(rows, columns));
        let matrix = halves((0..rows * columns).map(|index| f16::from_bits(1 + index as u16)));
        for (pack, unpack, order) in [
            ("pack_amp_left_f16", Some("unpack_amp_left_f16"), ElementOrder::AmpLeft { inner: 16 }),
            ("pack_amp_right_f16", None, ElementOrder::AmpRight { inner: 16 }),
            ("pack_block_major_f16", None, ElementOrder::BlockMajor { rows: 32, columns: 16, inner: 16 }),
        ] {
            let shape = order.padded_shape(plain.shape).expect("small");
            let packed = ShardLayout::new(ElementType::F16, order, shape);
            let stored = run(&bind(pack, &[packed, plain]).expect("orders agree"), std::slice::from_ref(&matrix));
            let map = order.map(shape).expect("padded");
            for (index, half) in (0..).zip(stored.as_chunks::<2>().0) {
                let (row, column) = map.coordinate_of(index).expect("inside");
                let inside = row < rows && column < columns;
                let wanted = if inside { 1 + (row * columns + column) as u16 } else { 0 };
                prop_assert_eq!(u16::from_le_bytes(*half), wanted);
            }
            if let Some(unpack) = unpack {
                let back = run(&bind(unpack, &[plain, packed]).expect("orders agree"), &[stored]);
                prop_assert_eq!(&back, &matrix);
            }
        }
    }
}

#[test]
fn flat_casts_convert_in_place_of_order() {
    let values = [0.3, -1.7, 1e-7, 240.0, 3000.0, f64::INFINITY, f64::NAN]
        .map(|value| f16_from_f64(value, Overflow::Saturate));
    let cast = call("cast_f16_f143_flat", &[("elements", 7), ("scale", 2)]).expect("valid");
    let codes = run(&cast, &[halves(values)]);
    let wanted = values.map(|value| Fp8::F143.encode(value.to_f64(), 2, Overflow::Saturate));
    assert_eq!(codes, wanted);
    assert_eq!(codes[4..], [0x7f, 0x80, 0x80]);

    let back = call("cast_f143_f16", &[("elements", 7), ("scale", 2)]).expect("valid");
    let halves_back = run(&back, std::slice::from_ref(&codes));
    assert_eq!(halves_back[8..10], f16::from_f32(960.0).to_le_bytes());
    assert_eq!(halves_back[10..12], 0x7e00_u16.to_le_bytes());

    let wide = call("cast_f152_f16", &[("elements", 1), ("scale", 31)]).expect("valid");
    assert_eq!(run(&wide, &[vec![0x7f]]), f16::MAX.to_le_bytes(), "past the largest f16");

    let narrow = call("cast_f32_f16", &[("elements", 2)]).expect("valid");
    let singles: Vec<u8> = [1.0 + 2.0_f32.powi(-11), 1e9].into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(run(&narrow, &[singles]), halves([f16::ONE, f16::MAX]));
}

#[test]
fn casts_refuse_layouts_that_they_do_not_keep() {
    let shape = MatrixShape::new(16, 64);
    let left = |element, inner| ShardLayout::new(element, ElementOrder::AmpLeft { inner }, shape);
    let (half, byte) = (ElementType::F16, ElementType::F143);
    assert!(bind("cast_f16_f143_flat", &[left(byte, 16), left(half, 16)]).is_ok());
    assert!(bind("cast_f16_f143_panels", &[left(byte, 32), left(half, 16)]).is_ok());
    for (entry, operands, code) in [
        ("cast_f16_f143_flat", [left(byte, 32), left(half, 16)], KernelCode::LayoutMismatch),
        ("cast_f16_f143_panels", [left(byte, 16), left(half, 16)], KernelCode::LayoutMismatch),
        ("cast_f16_f143_panels", [left(byte, 32), left(half, 32)], KernelCode::LayoutMismatch),
        ("cast_f16_f143_panels", [left(half, 32), left(half, 16)], KernelCode::WrongOperands),
        ("cast_f16_f143_flat", [left(byte, 16).scaled(40), left(half, 16)], KernelCode::WrongOperands),
        ("copy_u64", [left(byte, 32), left(byte, 16)], KernelCode::LayoutMismatch),
    ] {
        assert_eq!(bind(entry, &operands).map(|_| ()), Err(code), "{entry}");
    }
    let needs = Kernel::parse("cast_f16_f143_panels").expect("known").order_needs();
    assert_eq!(needs, [OrderNeed::Regrouped { from: 1, inner: 32 }, OrderNeed::Inner { inner: 16 }]);
}

#[test]
fn gemm_refuses_operands_of_another_panel_width() {
    let layout =
        |element, order, rows, columns| ShardLayout::new(element, order, MatrixShape::new(rows, columns));
    let output = layout(ElementType::F16, ElementOrder::AmpLeft { inner: 16 }, 16, 16);
    let right = layout(ElementType::F143, ElementOrder::AmpRight { inner: 32 }, 64, 16).scaled(-4);
    let left = |inner| layout(ElementType::F143, ElementOrder::AmpLeft { inner }, 16, 64).scaled(-4);
    assert!(bind("gemm_f143_f16", &[output, left(32), right]).is_ok());
    let error = Kernel::bind(KernelEntry::find("gemm_f143_f16").expect("known"), &[output, left(16), right])
        .expect_err("16-wide panels are not an FP8 operand");
    assert_eq!(error.code, KernelCode::LayoutMismatch);
    assert_eq!(
        error.message,
        "operand `left` of `gemm_f143_f16` is 16x64xf143 as `amp_left<16>`; expected 16x64 as `amp_left<32>`"
    );
}

#[test]
fn copies_move_bytes_and_leave_gaps_alone() {
    let source = bytes(96);
    assert_eq!(
        run(&call("copy_u64", &[("dwords", 12)]).expect("valid"), std::slice::from_ref(&source)),
        source
    );
    assert_eq!(
        run(&call("copy_u16", &[("halves", 5)]).expect("valid"), std::slice::from_ref(&source)),
        source[..10]
    );
    let strided = [("row_words", 2), ("rows", 3), ("source_stride", 1), ("destination_stride", 4)];
    let moved = run(&call("copy_strided_u32", &strided).expect("valid"), &[source[..16].to_vec()]);
    let gap = [0xff; 8];
    assert_eq!(moved, [&source[0..8], &gap, &source[4..12], &gap, &source[8..16]].concat());
}

#[test]
fn strided_extents_span_the_gaps() {
    let strided = [("row_dwords", 32), ("rows", 2), ("source_stride", 32), ("destination_stride", 64)];
    let (kernel, scalars) = call("copy_strided_u64", &strided).expect("valid");
    let extents = kernel.extents(&scalars).expect("valid");
    assert_eq!(extents.iter().map(|extent| extent.bytes.0).collect::<Vec<_>>(), [768, 512]);
    let overlapping = [("row_dwords", 32), ("rows", 2), ("source_stride", 32), ("destination_stride", 31)];
    assert_eq!(call("copy_strided_u64", &overlapping).map(|_| ()), Err(KernelCode::ScalarOutOfRange));
}

#[test]
fn fill_clears_exactly_its_extent() {
    let layout = ShardLayout::new(ElementType::F16, ElementOrder::RowMajor, MatrixShape::new(13, 4));
    let fill = bind("fill_zero_u64", &[layout]).expect("104 bytes");
    assert_eq!(fill.1.to_string(), "dwords_per_worker = 2, remainder_workers = 1");
    assert_eq!(run(&fill, &[]), vec![0; 104]);
}

#[test]
fn reduction_rounds_after_every_partial_and_may_overwrite_the_first() {
    // 2048 + 1 + 1: each 1 is a tie that rounds back to 2048; added first they would give 2050.
    let column = |value: f32| [f16::from_f32(value); 8];
    let (kernel, scalars) = call("reduce_add_f16", &[("remotes", 2), ("elements", 8)]).expect("valid");
    let remote = halves([column(1.0), column(1.0)].concat());
    let sum = run(&(kernel.clone(), scalars), &[halves(column(2048.0)), remote]);
    assert_eq!(sum, halves(column(2048.0)));
    assert_eq!(kernel.entry().in_place, [(0, 1)]);

    let singles = |value: f32| [value; 4].map(f32::to_le_bytes).concat();
    let reduce = call("reduce_add_f32", &[("remotes", 1), ("elements", 4)]).expect("valid");
    assert_eq!(run(&reduce, &[singles(0.1), singles(0.2)]), singles(0.1 + 0.2));
}

#[test]
fn scalars_are_checked_by_name_and_range() {
    assert_eq!(call("reduce_add_f16", &[("remotes", 1)]).map(|_| ()), Err(KernelCode::WrongScalars));
    let twice = [("remotes", 1), ("remotes", 1), ("elements", 8)];
    assert_eq!(call("reduce_add_f16", &twice).map(|_| ()), Err(KernelCode::WrongScalars));
    let unknown = [("remotes", 1), ("elements", 8), ("rows", 1)];
    assert_eq!(call("reduce_add_f16", &unknown).map(|_| ()), Err(KernelCode::WrongScalars));
    let ragged = [("remotes", 1), ("elements", 12)];
    assert_eq!(call("reduce_add_f16", &ragged).map(|_| ()), Err(KernelCode::ScalarOutOfRange));
    let partial_panel = [("elements", 520), ("panel_rows", 16), ("scale", 0)];
    assert_eq!(call("cast_f16_f143_panels", &partial_panel).map(|_| ()), Err(KernelCode::ScalarOutOfRange));

    let (kernel, scalars) = call("gemm_f143_f16_k32_c16_r16", &[("product_scale", -8)]).expect("valid");
    let registers: Vec<u32> = scalars.registers().collect();
    assert_eq!(registers, [0xffff_fff8]);
    assert_eq!(ScalarValues::from_registers(kernel.entry(), &registers), Ok(scalars.clone()));
    assert_eq!(kernel.entry().scalar_register(0), Some(5));
    let other = Kernel::parse("reduce_add_f16").expect("known");
    assert_eq!(other.extents(&scalars).map_err(|error| error.code), Err(KernelCode::ForeignScalars));
}

#[test]
fn a_refused_access_says_which_bytes_of_which_operand() {
    let (kernel, scalars) = call("copy_u64", &[("dwords", 2)]).expect("valid");
    let mut memory = BufferMemory::new(vec![vec![0; 16], vec![0; 8]]);
    let fault = kernel.run(&scalars, &mut memory).expect_err("the input is too short");
    let KernelFault::Memory { operand: 1, offset: 0, bytes: 16, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!(fault.code(), KernelCode::MemoryRefused);
    assert_eq!(fault.to_string(), "access to bytes 0..16 of operand 1: the buffer has 8 bytes");
}

#[test]
fn a_kernel_is_chosen_by_what_it_must_do() {
    let select = |family, operands: &[ShardLayout]| {
        Kernel::select(family, operands).map(|(kernel, scalars)| (kernel.symbol(), scalars.to_string()))
    };
    let shape = MatrixShape::new(16, 64);
    let left = |element, inner| ShardLayout::new(element, ElementOrder::AmpLeft { inner }, shape);
    let (half, byte) = (ElementType::F16, ElementType::F143);
    let regrouped = select(Family::Cast, &[left(byte, 32).scaled(-4), left(half, 16)]);
    let scalars = "elements = 1024, panel_rows = 16, scale = -4".to_owned();
    assert_eq!(regrouped, Ok(("cast_f16_f143_panels".to_owned(), scalars)));
    let kept = select(Family::Cast, &[left(byte, 16), left(half, 16)]);
    assert_eq!(kept.map(|(symbol, _)| symbol), Ok("cast_f16_f143_flat".to_owned()));
    let copied = select(Family::Copy, &[left(half, 16), left(half, 16)]);
    assert_eq!(copied.map(|(symbol, _)| symbol), Ok("copy_u64".to_owned()));
    let backwards = select(Family::Cast, &[left(half, 16), left(byte, 32)]);
    assert_eq!(backwards.map_err(|error| error.code), Err(KernelCode::LayoutMismatch));
    let unknown = select(Family::Reduce, &[left(byte, 32), left(byte, 32), left(byte, 32)]);
    assert_eq!(unknown.map_err(|error| error.code), Err(KernelCode::UnknownKernel));

    let entry = KernelEntry::of_types(Family::Gemm, &[half, byte, byte]).next().expect("an FP8 GEMM");
    assert_eq!(entry.name, "gemm_f143_f16");
    let kernel = Kernel::new(entry, &[64, 16, 16]).expect("in range");
    let adding = kernel.accumulating().expect("it has one");
    assert_eq!(adding.symbol(), "gemm_f143_f16_acc_k64_c16_r16");
    assert_eq!(adding.accumulating(), None);
}
