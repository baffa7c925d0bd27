//! Every recorded pair of word and text encodes and decodes through the field table.

use ipu_device::isa::{Context, FORMS, Instruction, IsaCode, decode, decode_all};

const IPU21: &str = include_str!("data/supervisor-vectors.tsv");
const IPU1: &str = include_str!("data/supervisor-vectors-ipu1.tsv");

/// Words and text of one line. A double control's text names its second word's fields after a semicolon.
fn vectors(table: &str) -> impl Iterator<Item = (Vec<u32>, String)> {
    table.lines().map(|line| {
        let (words, text) = line.split_once('\t').expect("a tab");
        let words = words
            .split_whitespace()
            .map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).expect("a word"))
            .collect();
        let text = text.replace(" ; xpic ", ", ").replace(", pic ", ", ");
        let text = match text.split_once(" 0x").filter(|_| text.starts_with("sendpicp")) {
            Some(_) => text.replacen(", 0 0x", ", 0, 0x", 1),
            None => text,
        };
        (words, text)
    })
}

#[test]
fn every_ipu21_vector_encodes_and_decodes() {
    let mut count = 0;
    for (words, text) in vectors(IPU21) {
        let instruction: Instruction = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(instruction.encode().expect("fits").as_slice(), words, "{text}");
        let decoded = decode(Context::Supervisor, &words).expect("known");
        // `nop` is the word of one `setzi`: the printer writes the alias.
        let expected = if words == [0x19e0_0000] { "nop".to_owned() } else { text.clone() };
        assert_eq!(decoded.to_string(), expected, "{words:x?}");
        count += 1;
    }
    assert_eq!(count, IPU21.lines().count());
}

#[test]
fn every_word_of_the_family_listing_decodes_to_its_text() {
    for (words, text) in vectors(IPU1) {
        let context = if text.starts_with("exit") { Context::Worker } else { Context::Supervisor };
        let read: Instruction = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.encode().expect("fits").as_slice(), words, "{text}");
        assert_eq!(decode(context, &words).expect("known"), read, "{text}");
    }
}

#[test]
fn fixed_bits_and_fields_of_a_form_do_not_overlap_and_cover_it() {
    for form in FORMS {
        let mut covered = form.fixed_mask;
        assert_eq!(form.fixed_value & !form.fixed_mask, 0, "{}", form.mnemonic);
        for field in form.operands.iter().flat_map(|operand| operand.fields) {
            let bits = ((1_u64 << field.width) - 1) << field.lsb;
            assert_eq!(covered & bits, 0, "{} bit {}", form.mnemonic, field.lsb);
            covered |= bits;
        }
        let all = if form.word_count == 1 { 0xffff_ffff } else { u64::MAX };
        assert_eq!(covered, all, "{} {:?}", form.mnemonic, form.opcode);
    }
}

#[test]
fn values_that_do_not_fit_are_errors() {
    let text = |text: &str| text.parse::<Instruction>().map_err(|error| error.to_string());
    assert_eq!(
        text("delay 524288"),
        Err("operand `events_minus_1` of `delay` is 524288, expected 0 to 524287".to_owned())
    );
    assert_eq!(
        text("call $m10, 0x5c102"),
        Err("operand `target` of `call` is 377090, expected a multiple of 4".to_owned())
    );
    assert_eq!(
        text("add $m0, $m0, 32768"),
        Err("operand `value` of `add` is 32768, expected -32768 to 32767".to_owned())
    );
    assert_eq!(text("jump 3"), Err("unknown instruction `jump`".to_owned()));
    assert!(text("setzi $m16, 0").is_err());
    let code = |text: &str| text.parse::<Instruction>().map_err(|error| error.code());
    let far = Instruction::Delay { events_minus_1: 524_288 };
    assert_eq!(far.encode().expect_err("19 bits").code(), IsaCode::OperandOutOfRange);
    assert_eq!(code("jump 3"), Err(IsaCode::UnreadableText));
}

#[test]
fn a_program_ends_in_an_error_where_a_second_word_is_missing() {
    let (index, error) = decode_all(Context::Supervisor, &[0x40a0_0000, 0xf660_0000]).expect_err("truncated");
    assert_eq!((index, error.code), (1, IsaCode::TruncatedInstruction));
    assert_eq!(
        error.to_string(),
        "word `0xf6600000` starts an instruction of two words, the second is missing"
    );
    assert!(decode(Context::Supervisor, &[0xffff_ffff, 0]).is_ok(), "a double control uses every bit");
    let unknown = decode(Context::Supervisor, &[0]).expect_err("no instruction");
    assert_eq!(unknown.code, IsaCode::UnknownWord);
    assert!(decode(Context::Supervisor, &[]).is_err());
}
