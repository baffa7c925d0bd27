//! What the verifier says, one text a rule.

use super::findings;

/// A program on four tiles with two buffers, `%x` of 256 bytes everywhere and `%y` of 64 on two tiles.
fn program(body: &str) -> String {
    format!(
        r#"exchange.program @main on [0:4] {{
  exchange.binding @in input : tensor<32xf16>
  exchange.binding @out output : tensor<32xf16>
  %x = exchange.buffer "x" : 256 bytes {{memory = standard, align = 32}}
  %y = exchange.buffer "y" : 64 bytes {{memory = standard, align = 8}} on [0:2]
{body}
}}
"#
    )
}

/// The findings of a program, without the lines that show the source.
fn codes(body: &str) -> String {
    let text = findings(&program(body));
    let kept = text.lines().filter(|line| !line.starts_with("  |"));
    kept.map(|line| format!("{line}\n")).collect()
}

fn phase(copies: &str) -> String {
    codes(&format!("exchange.phase @p {{\n{copies}\n}}"))
}

fn compute(runs: &str) -> String {
    codes(&format!("exchange.compute @c {{\n{runs}\n}}"))
}

#[test]
fn copies_stay_inside_tiles_and_buffers() {
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +64] from 0 to [2] into %y[0 : +64]"));
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +64] from 7 to [1] into %y[0 : +64]"));
    insta::assert_snapshot!(phase(
        "exchange.copy (t) in (4) : %x[96*t : +64] from t to [3 - t] into %x[0 : +64]"
    ));
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +64] from 0 to [1] into %y[-4 : +64]"));
}

#[test]
fn lengths_agree() {
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +64] from 0 to [1] into %y[0 : +32]"));
    insta::assert_snapshot!(phase(
        "exchange.copy (t) in (2) : %x[[0, 4, 8] : +4] from t to [3] into %x[8*t : +4]"
    ));
    insta::assert_snapshot!(phase(
        "exchange.copies %x -> %x from [0, 1] offset 0 bytes [4, 4, 4] to [2, 3] into 0"
    ));
    insta::assert_snapshot!(phase(
        "exchange.copies %x -> %x from [0, 1] offset 0 bytes 4 to [2, 3, 2] into 0"
    ));
    insta::assert_snapshot!(phase(
        "exchange.copies %x -> %x from 0 offset 0 bytes 8 to 1 pieces 2 into [0, 4]"
    ));
    insta::assert_snapshot!(phase(
        "exchange.copy (t) in (2) : %x[0 : +4] from t to [3] into %x[8*t : +4] send [1, 2, 3]"
    ));
}

#[test]
fn the_fabric_moves_words_to_other_tiles() {
    insta::assert_snapshot!(phase("exchange.copy %x[2 : +6] from 0 to [1] into %y[0 : +6]"));
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +8] from 0 to [0] into %y[0 : +8]"));
    insta::assert_snapshot!(phase("exchange.copy %x[0 : +8] from 0 to [] into %y[0 : +8]"));
    insta::assert_snapshot!(phase("exchange.copies %x -> %y from 0 offset 0 bytes 0 to 1 into 0"));
}

#[test]
fn a_paired_transfer_moves_64_bits_to_pairs_of_tiles() {
    let paired = |copy: &str| phase(&format!("exchange.copy {copy} paired"));
    assert_eq!(paired("%x[0 : +64] from 0 to [2, 3] into %x[64 : +64]"), "");
    insta::assert_snapshot!(paired("%x[4 : +64] from 0 to [2, 3] into %x[128 : +64]"));
    insta::assert_snapshot!(paired("%x[0 : +8] from 0 to [2, 3] into %x[128 : +4, 136 : +4]"));
    insta::assert_snapshot!(paired("%x[0 : +64] from 0 to [2] into %x[64 : +64]"));
    let narrow = "%n = exchange.buffer \"n\" : 64 bytes {memory = standard, align = 4}\n";
    let copy = "exchange.copy %x[0 : +64] from 0 to [2, 3] into %n[0 : +64] paired";
    insta::assert_snapshot!(codes(&format!("{narrow}exchange.phase @p {{\n{copy}\n}}")));
    let lender = program(
        "exchange.phase @p {\nexchange.copy %x[0 : +64] from 4 to [2, 3] into %x[64 : +64] paired\n}",
    );
    insta::assert_snapshot!(findings(&lender.replace("[0:4]", "[0:5]")));
}

#[test]
fn a_base_is_the_address_of_a_word_in_a_placed_program() {
    let text = |base: &str| {
        format!(
            "exchange.phase @p base {base} {{\nexchange.copy %x[0 : +4] from 0 to [1] into %y[0 : +4] send 28\n}}"
        )
    };
    insta::assert_snapshot!(codes(&text("0x60000")));
    let placed = program(&text("{[1] = 0x60002}"));
    let placed = placed.replace("align = 32}\n", "align = 32} at 0x60000\n");
    let placed = placed.replace("on [0:2]\n", "on [0:2] at 0x64000\n");
    insta::assert_snapshot!(findings(&placed));
}

#[test]
fn a_byte_is_written_once_and_not_read_too() {
    insta::assert_snapshot!(phase(
        "exchange.copy (t) in (2) : %x[0 : +64] from t to [3] into %x[128 + 32*t : +64]"
    ));
    insta::assert_snapshot!(phase(
        "exchange.copy %x[0 : +64] from 0 to [1] into %y[0 : +64]\nexchange.copy %y[32 : +32] from 1 to [3] into %x[0 : +32]"
    ));
}

#[test]
fn half_a_state_is_refused() {
    insta::assert_snapshot!(phase(
        "exchange.copy %x[0 : +4] from 0 to [1] into %y[0 : +4] send 30\nexchange.copy %x[0 : +4] from 2 to [3] into %x[0 : +4]"
    ));
    insta::assert_snapshot!(codes(
        "%z = exchange.buffer \"z\" : 64 bytes {memory = standard, align = 8} at 0x60000"
    ));
    insta::assert_snapshot!(codes(
        "%z = exchange.buffer \"z\" : 64 bytes {memory = standard, align = 8} at {[0:2] = 0x60000}"
    ));
}

#[test]
fn calls_fit_their_kernels() {
    insta::assert_snapshot!(compute("exchange.run on [0:4] : @copy_u46(%x, %x) {dwords = 8}"));
    insta::assert_snapshot!(compute("exchange.run on [0:2] : @copy_u64(%y, %x) {words = 8}"));
    insta::assert_snapshot!(compute("exchange.run on [0:2] : @copy_u64(%y) {dwords = 8}"));
    insta::assert_snapshot!(compute("exchange.run on [0:2] : @copy_u64(%y, %x) {dwords = 9}"));
    insta::assert_snapshot!(compute("exchange.run on [0:3] : @copy_u64(%y, %x) {dwords = 8}"));
    insta::assert_snapshot!(compute("exchange.run on [0:2] : @copy_u64(%y, %x[4 : +64]) {dwords = 8}"));
    insta::assert_snapshot!(compute(
        "exchange.run on [0:2] : @copy_u64(%x[32 : +64], %x[0 : +64]) {dwords = 8}"
    ));
    insta::assert_snapshot!(compute("exchange.run on [0:2] : @gemm_f16_f16_k16_c16_r1(%y, %x, %x) {}"));
}

#[test]
fn host_moves_name_bindings_that_go_their_way() {
    insta::assert_snapshot!(codes("exchange.load_host @out -> %x on 0 image [0 : +64]"));
    insta::assert_snapshot!(codes("exchange.store_host %x -> @in on 0 image [0 : +64]"));
    insta::assert_snapshot!(codes("exchange.load_host @in -> %x on 0 bytes [0 : +32] image [0 : +64]"));
    insta::assert_snapshot!(codes("exchange.load_host @in -> %x on 0 image [-8 : +64]"));
}

#[test]
fn the_host_moves_whole_words_where_the_layout_has_them() {
    insta::assert_snapshot!(codes("exchange.load_host @in -> %x on 0 bytes [0 : +6] image [0 : +6]"));
    insta::assert_snapshot!(codes("exchange.load_host @in -> %x on 0 bytes [2 : +4] image [0 : +4]"));
    let rows = "#mapped.layout<split = [2], tiles = (m) -> m, order = row_major, memory = standard>";
    let load = |parts: &str| {
        let text = program(&format!("exchange.load_host @in -> %x {parts}"));
        findings(&text.replacen("tensor<32xf16>", &format!("tensor<32xf16, {rows}>"), 1))
    };
    assert_eq!(load("(t) in (2) on t image [32*t : +32]"), "");
    insta::assert_snapshot!(load("(t) in (2) on 1 - t image [32*t : +32]"));
    insta::assert_snapshot!(load("on 3 image [0 : +32]"));
}

#[test]
fn ops_stand_where_they_belong() {
    insta::assert_snapshot!(codes("exchange.copy %x[0 : +64] from 0 to [1] into %y[0 : +64]"));
    insta::assert_snapshot!(compute("exchange.separate %x, %y"));
    insta::assert_snapshot!(codes(
        "exchange.repeat 0 {\n%z = exchange.buffer \"z\" : 8 bytes {memory = standard, align = 8}\n}"
    ));
    insta::assert_snapshot!(findings("exchange.phase @lonely {\n}\n"));
}

#[test]
fn buffers_are_possible() {
    for rest in ["0 bytes {memory = standard, align = 8}", "8 bytes {memory = standard, align = 12}"] {
        insta::assert_snapshot!(codes(&format!("%z = exchange.buffer \"z\" : {rest}")));
    }
    insta::assert_snapshot!(codes(
        "%z = exchange.buffer \"z\" : 700000 bytes {memory = standard, align = 8}"
    ));
    insta::assert_snapshot!(codes(
        "%z = exchange.buffer \"z\" : 8 bytes {memory = standard, align = 8} on [2:6]"
    ));
}

/// A placed program whose two buffers live at the same time.
fn placed(first: &str, second: &str, rest: &str) -> String {
    let text = format!(
        r#"exchange.program @main on [0:4] {{
  %x = exchange.buffer "x" : 64 bytes {first}
  %y = exchange.buffer "y" : 64 bytes {second}
  {rest}
  exchange.compute @c {{
    exchange.run on [0:4] : @copy_u64(%y, %x) {{dwords = 8}}
  }}
}}
"#
    );
    let text = findings(&text);
    text.lines().filter(|line| !line.starts_with("  |")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn addresses_are_aligned_and_apart() {
    let standard = |at: &str| format!("{{memory = standard, align = 32}} at {at}");
    let fine = standard("0x60000");
    insta::assert_snapshot!(placed(&fine, &standard("0x60020"), ""));
    insta::assert_snapshot!(placed(&fine, &standard("{[0:3] = 0x60040, [3] = 0x60000}"), ""));
    insta::assert_snapshot!(placed(&fine, &standard("0x60050"), ""));
    insta::assert_snapshot!(placed(&fine, "{memory = interleaved, align = 32} at 0x70000", ""));
    insta::assert_snapshot!(placed(&fine, "{memory = standard, align = 32, tail = 64} at 0xe7fa0", ""));
    insta::assert_snapshot!(placed(&fine, &standard("0x60040"), "exchange.separate %x, %y"));
    assert_eq!(placed(&fine, &standard("0x60040"), ""), "");
    assert_eq!(placed(&fine, &standard("0x64000"), "exchange.separate %x, %y"), "");
}
