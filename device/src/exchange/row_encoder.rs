//! A tile's timeline as a row of exchange instructions.
//!
//! Rules, in order of time:
//!
//! - a gap to a single control is part of the control's own instruction; `delay` only covers what exceeds 128 events
//!   (pointer, format) or 4,096 (source);
//! - two controls while idle: `delay` to the event before, then `sendpicp` without direction, which covers the time
//!   to the event before the next control, at most 64 events;
//! - a message: `send` of at most 64 items, `sendoff` of at most 4,096. A control on event `c` ends the current
//!   instruction at `c - 1`; a `sendpic` (one control) or a restarting `sendpicp` (two) carries it and at most 64
//!   items up to the event before the next control;
//! - `delay` to the horizon, `br $m10`;
//! - a `sendpicp` lies on an even word: where it would not, an instruction before it is split in two.
//!
//! [`RowEncoding::Compact`] also joins messages that follow each other at once from one address range.

use crate::hash::HashMap;

use super::schedule_error::{ScheduleCode, ScheduleError};
use super::timeline::{Control, ControlAction, Send, Timeline};
use super::transfer::ItemWidth;
use crate::isa::{EncodeError, Instruction, Register, encode_all};
use crate::units::{Bytes, Event};

/// Most items of `send`, `sendpic`, `sendpicp`.
const SEND_MOST: i64 = 64;
/// Most items of `sendoff`.
const SENDOFF_MOST: i64 = 4096;
/// Most events of `delay`.
const DELAY_MOST: i64 = 0x8_0000;
/// Most events of `delaypic`.
const DELAYPIC_MOST: i64 = 128;
/// Most events of `delayxpic`.
const DELAYXPIC_MOST: i64 = 4096;
/// Rows start at multiples of this.
pub const ROW_ALIGN: Bytes = Bytes(8);
/// Register that holds a row's return address.
const RETURN: Register = Register::M10;

/// Which of several rows with the same events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RowEncoding {
    /// The recorded encoder's words, message by message; a row that ends on a message of 52 words is an event longer.
    Reference,
    /// The same events in as few words or fewer.
    #[default]
    Compact,
}

/// A row: its instructions and how long it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Instructions, the return included.
    pub instructions: Vec<Instruction>,
    /// Row time at which it returns.
    pub events: Event,
}

impl Row {
    /// The row of a tile that takes no part: a lone return.
    #[must_use]
    pub fn idle() -> Self {
        Self { instructions: vec![Instruction::Br { target: RETURN }], events: Event(0) }
    }

    /// Size in words.
    #[must_use]
    pub fn word_count(&self) -> usize {
        self.instructions.iter().map(Instruction::word_count).sum()
    }

    /// The words.
    ///
    /// # Errors
    /// When an address or source does not fit its field.
    pub fn words(&self) -> Result<Vec<u32>, EncodeError> {
        encode_all(&self.instructions)
    }
}

/// The row of a timeline that passed its checks.
///
/// # Errors
/// When a double control cannot be aligned; the transfer has to move by an event.
pub fn encode_row(timeline: &Timeline, encoding: RowEncoding) -> Result<Row, ScheduleError> {
    let joined;
    let sends = match encoding {
        RowEncoding::Reference => &timeline.sends,
        RowEncoding::Compact => {
            joined = join_sends(&timeline.sends);
            &joined
        }
    };
    let mut encoder = Encoder { timeline, steps: Vec::new(), words: 0, time: 0, message_start: 0 };
    let mut controls = timeline.controls.as_slice();
    for send in sends {
        let (before, during, after) = partition(controls, send);
        encoder.idle(before, send.start.0)?;
        encoder.message(send, during)?;
        controls = after;
    }
    let horizon = match encoding {
        RowEncoding::Reference => recorded_horizon(timeline),
        RowEncoding::Compact => timeline.horizon,
    };
    encoder.idle(controls, horizon.0)?;
    let mut instructions: Vec<Instruction> = encoder.steps.into_iter().map(|step| step.instruction).collect();
    instructions.push(Instruction::Br { target: RETURN });
    Ok(Row { instructions, events: Event(encoder.time) })
}

/// Words of a message after which the recorded encoder waits an event longer. Nothing that is known of the fabric asks for
/// it: the neutral source of such a message falls on the event of its first write in row 0 of the chip.
const LONGER_AFTER: i64 = 52;

/// When the recorded encoder's row ends.
fn recorded_horizon(timeline: &Timeline) -> Event {
    let ends = timeline.receives.iter().map(|receive| {
        let arrival = &receive.arrival;
        let words = arrival.last_write.0 - arrival.first_write.0 + 1;
        let longer = receive.width == ItemWidth::Word32 && words == LONGER_AFTER;
        arrival.horizon + Event(i64::from(longer))
    });
    ends.max().max(Some(timeline.horizon)).unwrap_or_default()
}

/// Controls before, during and after a message.
fn partition<'a>(controls: &'a [Control], send: &Send) -> (&'a [Control], &'a [Control], &'a [Control]) {
    let (before, rest) = controls.split_at(controls.partition_point(|control| control.event <= send.start));
    let (during, after) = rest.split_at(rest.partition_point(|control| control.event <= send.end()));
    (before, during, after)
}

/// Messages that follow at once from the next address with the same control become one.
fn join_sends(sends: &[Send]) -> Vec<Send> {
    let mut joined: Vec<Send> = Vec::with_capacity(sends.len());
    for send in sends {
        match joined.last_mut() {
            Some(last)
                if last.end() == send.start
                    && last.control == send.control
                    && last.item_address(last.items) == send.item_address(0) =>
            {
                last.items = last.items.saturating_add(send.items);
            }
            _ => joined.push(*send),
        }
    }
    joined
}

/// One instruction, and the send control under which a piece of it could go on as `sendoff`.
#[derive(Debug, Clone, Copy)]
struct Step {
    instruction: Instruction,
    stream: Option<u32>,
}

struct Encoder<'a> {
    timeline: &'a Timeline,
    steps: Vec<Step>,
    words: usize,
    time: i64,
    /// Index of the step that starts the current message.
    message_start: usize,
}

impl Encoder<'_> {
    fn push(&mut self, instruction: Instruction, stream: Option<u32>) {
        self.words += instruction.word_count();
        self.time += i64::from(instruction.events().unwrap_or(0));
        self.steps.push(Step { instruction, stream });
    }

    fn delay_until(&mut self, until: i64) {
        while self.time < until {
            let events = (until - self.time).min(DELAY_MOST);
            self.push(Instruction::Delay { events_minus_1: minus_1(events) }, None);
        }
    }

    /// Carries out controls while nothing is sent, then waits for `limit`.
    fn idle(&mut self, controls: &[Control], limit: i64) -> Result<(), ScheduleError> {
        self.message_start = self.steps.len();
        let groups: Vec<&[Control]> = controls.chunk_by(|a, b| a.event == b.event).collect();
        for (index, group) in groups.iter().enumerate() {
            let next =
                groups.get(index + 1).and_then(|group| group.first()).map(|control| control.event.0 - 1);
            match group {
                [control] => self.idle_control(control),
                [source, pointer, ..] => {
                    self.delay_until(source.event.0 - 1);
                    self.align(source)?;
                    let events = (next.unwrap_or(limit).min(limit) - self.time).clamp(1, SEND_MOST);
                    self.push(double(events, 0, 0, source, pointer), None);
                }
                [] => {}
            }
        }
        self.delay_until(limit);
        Ok(())
    }

    fn idle_control(&mut self, control: &Control) {
        let most = match control.action {
            ControlAction::Source(_) | ControlAction::PairedSource(_) => DELAYXPIC_MOST,
            ControlAction::Pointer(_) | ControlAction::Format(_) => DELAYPIC_MOST,
        };
        self.delay_until(control.event.0 - most);
        let events_minus_1 = minus_1(control.event.0 - self.time);
        let instruction = match control.action {
            ControlAction::Source(value) => {
                Instruction::Delayxpic { events_minus_1, selector: 0, value: value.into() }
            }
            ControlAction::PairedSource(value) => {
                Instruction::Delayxpic { events_minus_1, selector: 1, value: value.into() }
            }
            ControlAction::Pointer(value) => Instruction::Delaypic { events_minus_1, selector: 0, value },
            ControlAction::Format(value) => Instruction::Delaypic { events_minus_1, selector: 1, value },
        };
        self.push(instruction, None);
    }

    /// Sends a message and carries out the controls that fall on its items.
    fn message(&mut self, send: &Send, controls: &[Control]) -> Result<(), ScheduleError> {
        let end = send.end().0;
        let control = send.control.bits();
        let groups: Vec<&[Control]> = controls.chunk_by(|a, b| a.event == b.event).collect();
        let boundary = |index: usize| {
            groups.get(index).and_then(|group| group.first()).map_or(end, |control| control.event.0 - 1)
        };
        self.message_start = self.steps.len();
        let first = (boundary(0) - self.time).min(SEND_MOST);
        let address = send.item_address(0);
        self.push(Instruction::Send { items_minus_1: minus_1(first), address, control }, Some(control));
        self.continue_stream(boundary(0), control);
        for (index, group) in groups.iter().enumerate() {
            let next = boundary(index + 1);
            let items = (next - self.time).clamp(1, SEND_MOST);
            match group {
                [single] => {
                    let (selector, value) = merged_control(single.action);
                    self.push(
                        Instruction::Sendpic { items_minus_1: minus_1(items), selector, value },
                        Some(control),
                    );
                }
                [source, pointer, ..] => {
                    self.align(source)?;
                    let address = send.item_address(minus_1(self.time - send.start.0 + 1));
                    self.push(double(items, address, control, source, pointer), Some(control));
                }
                [] => {}
            }
            self.continue_stream(next, control);
        }
        Ok(())
    }

    fn continue_stream(&mut self, until: i64, control: u32) {
        while self.time < until {
            let items = (until - self.time).min(SENDOFF_MOST);
            let instruction = Instruction::Sendoff { items_minus_1: minus_1(items), delta: 0, control };
            self.push(instruction, Some(control));
        }
    }

    /// Makes the next word even by splitting an instruction after the last double control: the current message's
    /// first, else the nearest before that lasts two events.
    fn align(&mut self, control: &Control) -> Result<(), ScheduleError> {
        if self.words.is_multiple_of(2) {
            return Ok(());
        }
        let double = |step: &Step| matches!(step.instruction, Instruction::Sendpicp { .. });
        let from = self.steps.iter().rposition(double).unwrap_or(0);
        let splittable =
            |index: usize| self.steps.get(index).and_then(|step| split(*step)).map(|parts| (index, parts));
        let found = Some(self.message_start)
            .filter(|&start| start >= from)
            .and_then(splittable)
            .or_else(|| (from..self.steps.len()).rev().find_map(splittable));
        let Some((index, parts)) = found else {
            return Err(ScheduleError {
                code: ScheduleCode::UnalignedDoubleControl,
                tile: self.timeline.tile,
                event: control.event,
                first: Some(super::Offender { transfer: control.transfer, role: control.action.role() }),
                second: None,
                detail: "no instruction before it can be split; move the transfer by an event".to_owned(),
            });
        };
        self.steps.splice(index..=index, parts);
        self.words += 1;
        Ok(())
    }
}

/// A count as instructions hold it; the count is at least 1.
fn minus_1(count: i64) -> u32 {
    u32::try_from(count - 1).unwrap_or(0)
}

/// Selector and value of a control merged into a `sendpic`.
fn merged_control(action: ControlAction) -> (u32, u32) {
    match action {
        ControlAction::Source(value) => (0, value.into()),
        ControlAction::PairedSource(value) => (1, value.into()),
        ControlAction::Pointer(value) => (2, value),
        ControlAction::Format(value) => (3, value),
    }
}

fn double(items: i64, address: u32, control: u32, source: &Control, pointer: &Control) -> Instruction {
    let (source_selector, source) = merged_control(source.action);
    let (pointer_selector, pointer) = merged_control(pointer.action);
    Instruction::Sendpicp {
        items_minus_1: minus_1(items),
        address,
        control,
        pointer_selector: pointer_selector.saturating_sub(2),
        source_selector,
        source,
        pointer,
    }
}

/// The same events in one word more: one event, then the rest. `None` for an instruction of one event.
fn split(step: Step) -> Option<[Step; 2]> {
    let rest = step.instruction.events()?.checked_sub(2)?;
    let delay = |events_minus_1| Instruction::Delay { events_minus_1 };
    let (first, second) = match (step.instruction, step.stream) {
        (Instruction::Delaypic { selector, value, .. }, _) => {
            (delay(0), Instruction::Delaypic { events_minus_1: rest, selector, value })
        }
        (Instruction::Delayxpic { selector, value, .. }, _) => {
            (delay(0), Instruction::Delayxpic { events_minus_1: rest, selector, value })
        }
        (Instruction::Delay { .. }, _) => (delay(0), delay(rest)),
        (instruction, None) => (with_one_item(instruction), delay(rest)),
        (instruction, Some(control)) => {
            (with_one_item(instruction), Instruction::Sendoff { items_minus_1: rest, delta: 0, control })
        }
    };
    Some([Step { instruction: first, ..step }, Step { instruction: second, ..step }])
}

fn with_one_item(mut instruction: Instruction) -> Instruction {
    match &mut instruction {
        Instruction::Send { items_minus_1, .. }
        | Instruction::Sendoff { items_minus_1, .. }
        | Instruction::Sendpic { items_minus_1, .. }
        | Instruction::Sendpicp { items_minus_1, .. } => *items_minus_1 = 0,
        _ => {}
    }
    instruction
}

/// The rows of one tile, each kept once: a row whose words another row has or ends in, on a multiple of 8 bytes,
/// shares its place.
#[derive(Debug, Clone, Default)]
pub struct RowTable {
    words: Vec<u32>,
    /// Places of whole rows by their words.
    known: HashMap<Vec<u32>, usize>,
    /// One past the last word of each row.
    ends: Vec<usize>,
}

impl RowTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row and gives its offset from the start of the table, a multiple of 8. `Compact` tables share.
    pub fn insert(&mut self, row: &[u32], encoding: RowEncoding) -> Bytes {
        if encoding == RowEncoding::Compact
            && let Some(index) = self.find(row)
        {
            return offset(index);
        }
        if !self.words.len().is_multiple_of(2) {
            // Never executed: rows end in a return.
            self.words.push(PADDING);
        }
        let index = self.words.len();
        self.words.extend_from_slice(row);
        self.known.insert(row.to_vec(), index);
        self.ends.push(self.words.len());
        offset(index)
    }

    fn find(&self, row: &[u32]) -> Option<usize> {
        self.known.get(row).copied().or_else(|| {
            self.ends.iter().find_map(|&end| {
                let start = end.checked_sub(row.len())?;
                (start.is_multiple_of(2) && self.words.get(start..end)? == row).then_some(start)
            })
        })
    }

    /// All rows with the padding between them.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// `nop`, between rows of odd length.
const PADDING: u32 = 0x19e0_0000;

fn offset(index: usize) -> Bytes {
    Bytes(u32::try_from(index * 4).unwrap_or(u32::MAX))
}
