//! Words to instructions, remembered: programs execute the same few words over and over.

use std::cell::RefCell;

use crate::isa::{Context, DecodeError, Instruction, decode as decode_words};

/// Slots of the table, a power of two.
const SLOTS: usize = 4096;

/// A decoded word; the key holds the word and, in bit 32, the context.
type Slot = Option<(u64, Instruction)>;

thread_local! {
    static DECODED: RefCell<Vec<Slot>> = RefCell::new(vec![None; SLOTS]);
}

/// The instruction that starts with `word`; `second` is the word after it, where there is one.
pub(super) fn decode(context: Context, word: u32, second: Option<u32>) -> Result<Instruction, DecodeError> {
    let key = u64::from(word) | u64::from(context == Context::Worker) << 32;
    let slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % SLOTS;
    DECODED.with_borrow_mut(|decoded| {
        if let Some((known, instruction)) = decoded[slot]
            && known == key
        {
            return Ok(instruction);
        }
        let instruction = match second {
            Some(second) => decode_words(context, &[word, second])?,
            None => decode_words(context, &[word])?,
        };
        // The key of an instruction of two words is not its first word.
        if instruction.word_count() == 1 {
            decoded[slot] = Some((key, instruction));
        }
        Ok(instruction)
    })
}
