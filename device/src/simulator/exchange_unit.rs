//! A tile's exchange registers and the effect of exchange instructions on them and on the tile's timeline.
//!
//! One exchange instruction runs at a time and takes its count of events, no more. A stream is what `send` opens
//! and `sendoff` and `sendpic` continue; a `sendpicp` without direction ends it.

use crate::isa::Instruction;

use super::fault::FaultCode;
use super::timeline::{ExchangeRegisters, SendControl, SendRun, Timeline};

/// What an exchange instruction may not do, without the tile.
pub(crate) struct RowError {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
}

impl RowError {
    fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Exchange registers, the open stream and the timeline of the exchange under way.
#[derive(Debug, Clone)]
pub(crate) struct ExchangeUnit {
    pub(crate) registers: ExchangeRegisters,
    pub(crate) timeline: Timeline,
    stream: Option<SendControl>,
}

impl ExchangeUnit {
    pub(crate) fn new(registers: ExchangeRegisters) -> Self {
        Self { registers, timeline: Timeline::begin(&registers), stream: None }
    }

    /// A new exchange begins with the registers as they stand.
    pub(crate) fn begin(&mut self) {
        self.timeline = Timeline::begin(&self.registers);
        self.stream = None;
    }

    /// Executes an exchange instruction that starts at row time `start`; returns the events it takes.
    pub(crate) fn execute(&mut self, instruction: &Instruction, start: i64) -> Result<u32, RowError> {
        let events = instruction.events().unwrap_or_default();
        let end = start + i64::from(events);
        match *instruction {
            Instruction::Delaypic { selector, value, .. } => self.pointer_control(selector, value, end),
            Instruction::Delayxpic { selector, value, .. } => {
                self.source_control(selector, value as u16, end);
            }
            Instruction::Send { address, control, .. } => {
                self.open_stream(address, SendControl(control as u8));
                self.emit(start, events)?;
            }
            Instruction::Sendoff { delta, control, .. } => {
                self.move_stream(delta, SendControl(control as u8))?;
                self.emit(start, events)?;
            }
            Instruction::Sendpic { selector, value, .. } => {
                self.open()?;
                if selector < 2 {
                    self.source_control(selector, (value & 0x1fff) as u16, start + 1);
                } else {
                    self.pointer_control(selector - 2, value, start + 1);
                }
                self.emit(start, events)?;
            }
            Instruction::Sendpicp {
                address,
                control,
                pointer_selector,
                source_selector,
                source,
                pointer,
                ..
            } => {
                if pointer_selector != 0 || source_selector != 0 {
                    return Err(coinciding_controls());
                }
                self.source_control(0, source as u16, start + 1);
                self.pointer_control(0, pointer, start + 1);
                let control = SendControl(control as u8);
                if control.directions() == 0 {
                    self.stream = None;
                } else {
                    self.open_stream(address, control);
                    self.emit(start, events)?;
                }
            }
            _ => {}
        }
        self.timeline.horizon = end;
        Ok(events)
    }

    fn open(&self) -> Result<SendControl, RowError> {
        self.stream.ok_or_else(|| {
            RowError::new(
                FaultCode::NoStream,
                "a stream is continued that no `send` has opened in this exchange",
            )
        })
    }

    /// Goes on with the open stream `delta` items further, under a send control of its own.
    fn move_stream(&mut self, delta: u32, control: SendControl) -> Result<(), RowError> {
        if control.is_wide() != self.open()?.is_wide() {
            let message = "`sendoff` changes the item width of the open stream";
            return Err(RowError::new(FaultCode::NoStream, message));
        }
        self.stream = Some(control);
        let moved = delta.wrapping_mul(control.item_bytes());
        self.registers.outgoing_cursor = self.registers.outgoing_cursor.wrapping_add(moved);
        Ok(())
    }

    fn open_stream(&mut self, address: u32, control: SendControl) {
        self.stream = Some(control);
        self.registers.outgoing_cursor = address.wrapping_mul(control.item_bytes());
    }

    fn emit(&mut self, start: i64, items: u32) -> Result<(), RowError> {
        let control = self.open()?;
        let address = self.registers.outgoing_base.wrapping_add(self.registers.outgoing_cursor);
        self.timeline.push_send(SendRun { first: start + 1, items, address, control });
        let advance = items.wrapping_mul(control.item_bytes());
        self.registers.outgoing_cursor = self.registers.outgoing_cursor.wrapping_add(advance);
        Ok(())
    }

    pub(crate) fn source_control(&mut self, selector: u32, source: u16, event: i64) {
        if selector == 0 {
            self.registers.source = source;
            self.timeline.source.changes.push((event, source));
        } else {
            self.registers.paired_source = source;
            self.timeline.paired_source.changes.push((event, source));
        }
    }

    pub(crate) fn pointer_control(&mut self, selector: u32, value: u32, event: i64) {
        if selector == 0 {
            self.set_cursor(value.wrapping_mul(4), event);
        } else {
            self.set_format(value as u8 & 3, event);
        }
    }

    pub(crate) fn set_cursor(&mut self, cursor: u32, event: i64) {
        self.registers.cursor = Some(cursor);
        self.timeline.cursor.changes.push((event, Some(cursor)));
    }

    pub(crate) fn set_format(&mut self, format: u8, event: i64) {
        self.registers.format = format;
        self.timeline.format.changes.push((event, format));
    }

    pub(crate) fn set_incoming_base(&mut self, base: u32, event: i64) {
        self.registers.incoming_base = base;
        self.timeline.incoming_base.changes.push((event, base));
    }

    /// Whether the exchange under way concerns other tiles: something was sent or a tile is listened to.
    pub(crate) fn is_active(&self) -> bool {
        !self.timeline.sends.is_empty() || self.timeline.listens()
    }
}

fn coinciding_controls() -> RowError {
    RowError::new(
        FaultCode::ControlsCoincide,
        "`sendpicp` carries a format or a paired source; only an ordinary source and a pointer may share an event",
    )
}
