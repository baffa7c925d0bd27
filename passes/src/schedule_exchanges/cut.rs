//! Cuts transfers into messages that the fabric can carry: at most [`MAX_MESSAGE_WORDS`] words, and no message whose
//! own controls collide (a loopback of 28 words would neutralise its source as its own send starts, say).

use super::fabric::{Fabric, Rules};
use super::problem::{MAX_MESSAGE_WORDS, Problem, ScheduleCode, ScheduleError, Segment, Transfer, Width};

/// The messages of a problem and the transfer that each belongs to.
pub(crate) struct Messages {
    pub(crate) problem: Problem,
    pub(crate) origin: Vec<u32>,
}

/// Cuts what has to be cut; transfers keep their order, parts ascend in memory.
pub(crate) fn cut_into_messages(problem: &Problem, rules: Rules) -> Result<Messages, ScheduleError> {
    let mut messages =
        Messages { problem: problem.clone(), origin: (0..problem.transfers.len() as u32).collect() };
    // A cut may leave a part that must be cut again; each round at least halves it.
    for _ in 0..2 * u32::BITS {
        let fabric = Fabric::new(&messages.problem, rules);
        let lengths: Vec<u32> =
            messages.problem.transfers.iter().map(|transfer| part_words(&fabric, transfer)).collect();
        let done = lengths
            .iter()
            .zip(&messages.problem.transfers)
            .all(|(&length, transfer)| length >= transfer.words);
        if done {
            return Ok(messages);
        }
        check_lengths(&lengths, &messages.origin)?;
        messages = cut(&messages, &lengths);
    }
    let message = "transfers cannot be cut into messages that fit".to_owned();
    Err(ScheduleError { code: ScheduleCode::Unschedulable, message, transfer: None })
}

/// Every message can be sent whole or in parts.
fn check_lengths(lengths: &[u32], origin: &[u32]) -> Result<(), ScheduleError> {
    let Some(index) = lengths.iter().position(|&length| length == 0) else { return Ok(()) };
    let transfer = origin.get(index).copied();
    let message = match transfer {
        Some(transfer) => format!("the controls of transfer {transfer} collide however it is cut"),
        None => "the controls of a transfer collide however it is cut".to_owned(),
    };
    Err(ScheduleError { code: ScheduleCode::Unschedulable, message, transfer })
}

/// Words that each part of `transfer` may have; at least its length when it can stay whole, 0 when nothing helps.
fn part_words(fabric: &Fabric<'_>, transfer: &Transfer) -> u32 {
    let routes: Vec<u32> = (transfer.first_receiver..transfer.first_receiver + transfer.receivers).collect();
    let grain = if transfer.width == Width::Paired { 2 } else { 1 };
    if transfer.words > MAX_MESSAGE_WORDS {
        MAX_MESSAGE_WORDS
    } else if fabric.fits_alone(transfer, &routes) {
        transfer.words
    } else if transfer.words <= grain {
        0
    } else {
        (transfer.words / 2).next_multiple_of(grain).min(transfer.words - grain)
    }
}

fn cut(messages: &Messages, lengths: &[u32]) -> Messages {
    let from = &messages.problem;
    let mut into = Messages {
        problem: Problem { storages: from.storages.clone(), ..Problem::default() },
        origin: vec![],
    };
    for ((transfer, &origin), &length) in from.transfers.iter().zip(&messages.origin).zip(lengths) {
        let mut begin = 0;
        while begin < transfer.words {
            let end = begin.saturating_add(length).min(transfer.words);
            push_part(from, transfer, begin, end, &mut into.problem);
            into.origin.push(origin);
            begin = end;
        }
    }
    into
}

/// Appends words `begin..end` of `transfer` as a transfer of its own.
fn push_part(from: &Problem, transfer: &Transfer, begin: u32, end: u32, into: &mut Problem) {
    let segments = from.segments_of(transfer);
    let current = segments.iter().rev().find(|segment| segment.word <= begin);
    let (word, displacement) = current.map_or((0, 0), |segment| (segment.word, segment.displacement));
    let shift = displacement.wrapping_add((4 * (begin - word)) as i32);
    let first_receiver = into.receivers.len() as u32;
    into.receivers.extend(from.receivers_of(transfer).iter().map(|&receiver| {
        let offset = receiver.offset.wrapping_add_signed(shift);
        super::problem::Receiver { offset, ..receiver }
    }));
    let first_segment = into.segments.len() as u32;
    let inside = segments.iter().filter(|segment| segment.word > begin && segment.word < end);
    into.segments.extend(inside.map(|segment| Segment {
        word: segment.word - begin,
        displacement: segment.displacement.wrapping_sub(shift),
    }));
    into.transfers.push(Transfer {
        words: end - begin,
        offset: transfer.offset + 4 * begin,
        first_receiver,
        first_segment,
        segments: into.segments.len() as u32 - first_segment,
        ..*transfer
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_that_collide_however_a_transfer_is_cut_are_refused() {
        assert_eq!(check_lengths(&[4, 1], &[0, 7]), Ok(()));
        let error = check_lengths(&[4, 0], &[0, 7]).expect_err("no part of the second can be sent");
        assert_eq!((error.code, error.transfer), (ScheduleCode::Unschedulable, Some(7)));
    }
}
