//! Checks a schedule against the rules of the exchange, tile by tile and pair by pair.
//!
//! Shares nothing with the scheduler but the problem's columns and the topology: it lists what each tile does from
//! the event formulas, sorts it, and compares everything that can clash. For tests and for schedules from files.

use std::collections::BTreeMap;
use std::fmt;

use ipu_device::topology::{TILE_COUNT, time_to_mux};
use ipu_device::{LogicalTile, PhysicalTile};

use super::fabric::Rules;
use super::problem::{MAX_MESSAGE_WORDS, Place, Problem, Transfer, Width};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The tile on which things clash.
    pub tile: LogicalTile,
    /// The event, or row time of a send, at which they do.
    pub event: i64,
    /// The rule and the transfers involved.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile {} event {}: {}", self.tile, self.event, self.message)
    }
}

/// One use of a tile's memory by a transfer, in row time, half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) storage: u32,
    pub(crate) transfer: u32,
    /// Index of the receiver for a write.
    pub(crate) receiver: u32,
}

/// What one tile's memory does in a phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct TileAccesses {
    pub(crate) reads: Vec<Access>,
    pub(crate) writes: Vec<Access>,
}

/// Events a receiver's row runs past its last write, that write included.
const WRITE_GUARD: i64 = 6;

fn items(transfer: &Transfer) -> i64 {
    i64::from(if transfer.width == Width::Paired { transfer.words / 2 } else { transfer.words })
}

/// The event of the source select and of the first write.
fn receive_events(transfer: &Transfer, receiver: PhysicalTile, send: u32) -> (i64, i64) {
    let first_word = i64::from(send) + 1;
    let source = transfer.source.physical();
    let (time, partner) = (time_to_mux(source, receiver), time_to_mux(source, receiver.partner()));
    let delay = 52 + 2 * i64::from(receiver.row());
    match transfer.width {
        Width::Word => (first_word + time, first_word + time + delay),
        Width::Paired => (first_word + time.min(partner), first_word + time.max(partner) + delay),
    }
}

/// Reads and writes of every tile's memory, by logical tile, in the order of transfers.
pub(crate) fn accesses(problem: &Problem, sends: &[u32]) -> Vec<TileAccesses> {
    let mut tiles = vec![TileAccesses::default(); usize::from(TILE_COUNT)];
    for (index, (transfer, &send)) in problem.transfers.iter().zip(sends).enumerate() {
        let (transfer_index, count) = (index as u32, items(transfer));
        let begin = i64::from(send);
        let end = (begin + count).max(WRITE_GUARD);
        let read =
            Access { begin, end, storage: transfer.storage, transfer: transfer_index, receiver: u32::MAX };
        tiles[usize::from(transfer.source.0)].reads.push(read);
        for (position, receiver) in problem.receivers_of(transfer).iter().enumerate() {
            let (_, write) = receive_events(transfer, receiver.tile.physical(), send);
            tiles[usize::from(receiver.tile.0)].writes.push(Access {
                begin: write,
                end: write + count - 1 + WRITE_GUARD,
                storage: receiver.storage,
                transfer: transfer_index,
                receiver: transfer.first_receiver + position as u32,
            });
        }
    }
    tiles
}

/// Last event of the longest row, guard events included; 0 where nothing moves.
pub(crate) fn phase_length(problem: &Problem, sends: &[u32]) -> i64 {
    let tiles = accesses(problem, sends);
    let ends = tiles.iter().flat_map(|tile| tile.reads.iter().chain(&tile.writes)).map(|access| access.end);
    ends.max().unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlKind {
    Select,
    Pointer,
    Exclusive,
}

/// The mux instant after a window's last item, and the place after its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WindowEnd {
    event: i64,
    paired: bool,
    place: Place,
}

struct Checker<'a> {
    problem: &'a Problem,
    sends: &'a [u32],
    rules: Rules,
    violations: Vec<Violation>,
}

/// Every broken rule, by tile. The problem must have passed [`Problem::check`].
#[must_use]
pub fn validate(problem: &Problem, sends: &[u32], rules: Rules) -> Vec<Violation> {
    let mut checker = Checker { problem, sends, rules, violations: Vec::new() };
    if sends.len() != problem.transfers.len() {
        let message = format!("{} starts for {} transfers", sends.len(), problem.transfers.len());
        checker.report(LogicalTile(0), 0, message);
        return checker.violations;
    }
    let mut lanes = vec![Vec::new(); usize::from(TILE_COUNT)];
    for (index, transfer) in problem.transfers.iter().enumerate() {
        lanes[usize::from(transfer.source.0)].push((sends[index], index, false));
        if transfer.width == Width::Paired {
            lanes[usize::from(transfer.source.partner().0)].push((sends[index], index, true));
        }
        if transfer.words > MAX_MESSAGE_WORDS {
            checker.report(transfer.source, i64::from(sends[index]), format!("message {index} is too long"));
        }
    }
    let accesses = accesses(problem, sends);
    for (tile, (mut lane, accesses)) in (0..TILE_COUNT).map(LogicalTile).zip(lanes.into_iter().zip(&accesses))
    {
        lane.sort_unstable();
        checker.check_lane(tile, &lane);
        checker.check_memory(tile, accesses);
        let controls = checker.controls(tile, &accesses.writes);
        checker.check_sharing(tile, &controls);
        checker.check_starts_and_parity(tile, &lane, &controls);
    }
    checker.violations
}

impl Checker<'_> {
    fn report(&mut self, tile: LogicalTile, event: i64, message: String) {
        self.violations.push(Violation { tile, event, message });
    }

    fn check_lane(&mut self, tile: LogicalTile, lane: &[(u32, usize, bool)]) {
        for pair in lane.windows(2) {
            let [(first_start, first, _), (start, second, _)] = [pair[0], pair[1]];
            if i64::from(first_start) + items(&self.problem.transfers[first]) > i64::from(start) {
                self.report(
                    tile,
                    i64::from(start),
                    format!("transfers {first} and {second} use one send lane"),
                );
            }
        }
    }

    fn check_memory(&mut self, tile: LogicalTile, accesses: &TileAccesses) {
        let banks = |access: &Access| {
            let transfer = &self.problem.transfers[access.transfer as usize];
            let mut banks = Vec::new();
            match self.problem.receivers.get(access.receiver as usize) {
                Some(receiver) => {
                    self.problem.visit_written_banks(transfer, receiver, &mut |bank| banks.push(bank));
                }
                None => {
                    let at = i64::from(transfer.offset);
                    self.problem
                        .visit_banks(transfer.storage, at, 4 * transfer.words, &mut |bank| banks.push(bank));
                }
            }
            banks
        };
        let mut found = Vec::new();
        let mut writes: Vec<&Access> = accesses.writes.iter().collect();
        writes.sort_unstable();
        let longest = writes.iter().map(|write| write.end - write.begin).max().unwrap_or(0);
        for read in &accesses.reads {
            let read_banks = banks(read);
            let first = writes.partition_point(|write| write.begin + longest <= read.begin);
            for write in writes[first..].iter().take_while(|write| write.begin < read.end) {
                if read.begin < write.end && banks(write).iter().any(|bank| read_banks.contains(bank)) {
                    let (send, receive) = (read.transfer, write.transfer);
                    let message =
                        format!("send of transfer {send} and receive of {receive} share an element");
                    found.push((write.begin, message));
                }
            }
        }
        for (event, message) in found {
            self.report(tile, event, message);
        }
    }

    /// The controls of a tile by event; reports windows that overlap or begin too early.
    fn controls(&mut self, tile: LogicalTile, writes: &[Access]) -> BTreeMap<i64, Vec<ControlKind>> {
        let mut windows: Vec<(i64, Access)> = Vec::with_capacity(writes.len());
        for write in writes {
            let transfer = &self.problem.transfers[write.transfer as usize];
            let (select, _) = receive_events(transfer, tile.physical(), self.sends[write.transfer as usize]);
            windows.push((select, *write));
        }
        windows.sort_unstable();
        let mut controls: BTreeMap<i64, Vec<ControlKind>> = BTreeMap::new();
        let mut previous: Option<WindowEnd> = None;
        for (position, &(select, write)) in windows.iter().enumerate() {
            let transfer = &self.problem.transfers[write.transfer as usize];
            let paired = transfer.width == Width::Paired;
            if select < 1 {
                let message = format!("transfer {} selects its source too early", write.transfer);
                self.report(tile, select, message);
            }
            if previous.is_some_and(|end| select - i64::from(paired) < end.event + i64::from(end.paired)) {
                let message = format!("transfer {} comes before the one before has ended", write.transfer);
                self.report(tile, select, message);
            }
            let next_select = windows.get(position + 1).map(|&(select, _)| select);
            let mut add = |event, kind| controls.entry(event).or_default().push(kind);
            previous = Some(self.window_controls(tile, select, &write, previous, next_select, &mut add));
        }
        controls
    }

    /// Adds the controls of one window and says where it ends.
    fn window_controls(
        &self,
        tile: LogicalTile,
        select: i64,
        write: &Access,
        previous: Option<WindowEnd>,
        next_select: Option<i64>,
        add: &mut dyn FnMut(i64, ControlKind),
    ) -> WindowEnd {
        use ControlKind::{Exclusive, Pointer, Select};
        let transfer = &self.problem.transfers[write.transfer as usize];
        let receiver = &self.problem.receivers[write.receiver as usize];
        let (count, paired) = (items(transfer), transfer.width == Width::Paired);
        let place =
            |displacement| self.problem.place(receiver.storage, i64::from(receiver.offset) + displacement);
        let begins = WindowEnd { event: select, paired: false, place: place(0) };
        if paired || previous != Some(begins) {
            add(write.begin, Pointer);
        }
        let mut last = (0, 0);
        for segment in self.problem.segments_of(transfer) {
            add(write.begin + i64::from(segment.word) / if paired { 2 } else { 1 }, Pointer);
            last = (segment.word, segment.displacement);
        }
        let (source, physical) = (transfer.source.physical(), tile.physical());
        if paired {
            add(write.begin - 2, Exclusive);
            add(write.begin - 2 + count, Exclusive);
            if time_to_mux(source, physical) < time_to_mux(source, physical.partner()) {
                add(select, Exclusive);
                add(select + count, Exclusive);
            }
        } else {
            add(select, Select);
            if next_select != Some(select + count) {
                add(select + count, Select);
            }
        }
        let end = place(i64::from(last.1)).after(4 * (transfer.words - last.0));
        WindowEnd { event: select + count, paired, place: end }
    }

    fn check_sharing(&mut self, tile: LogicalTile, controls: &BTreeMap<i64, Vec<ControlKind>>) {
        use ControlKind::{Pointer, Select};
        for (&event, kinds) in controls {
            let fine = match kinds.as_slice() {
                [_] => true,
                [first, second] => {
                    matches!((first, second), (Select, Pointer) | (Pointer, Select))
                }
                _ => false,
            };
            if !fine {
                self.report(tile, event, format!("controls {kinds:?} cannot share an event"));
            }
        }
    }

    fn check_starts_and_parity(
        &mut self,
        tile: LogicalTile,
        lane: &[(u32, usize, bool)],
        controls: &BTreeMap<i64, Vec<ControlKind>>,
    ) {
        // Events at whose start an instruction begins. A lone control begins one while the tile sends, else it ends one.
        let own = |&&(_, _, lent): &&(u32, usize, bool)| !lent;
        let sends: Vec<(i64, i64)> = lane
            .iter()
            .filter(own)
            .map(|&(start, index, _)| (i64::from(start), items(&self.problem.transfers[index])))
            .collect();
        let is_sending = |event: i64| {
            let before = sends.partition_point(|&(start, _)| start < event);
            before.checked_sub(1).is_some_and(|last| event <= sends[last].0 + sends[last].1)
        };
        let begin = |(&event, kinds): (&i64, &Vec<ControlKind>)| {
            if kinds.len() > 1 || is_sending(event) { event } else { event + 1 }
        };
        let mut begins: std::collections::BTreeSet<i64> = controls.iter().map(begin).collect();
        begins.insert(1);
        let mut previous = None;
        for &(start, index, lent) in lane {
            if lent {
                continue;
            }
            let transfer = &self.problem.transfers[index];
            let start = i64::from(start);
            let place = self.problem.place(transfer.storage, i64::from(transfer.offset));
            let continues = self.rules.continue_streams && previous == Some((start, place, transfer.width));
            let forbidden = [(start, self.rules.control_at_send_start), (start + 1, false)];
            for (event, allowed) in forbidden {
                if !continues && !allowed && controls.contains_key(&event) {
                    self.report(
                        tile,
                        event,
                        format!("a control falls on the start of transfer {index}'s send"),
                    );
                }
            }
            if !continues {
                begins.insert(start + 1);
            }
            begins.insert(start + items(transfer) + 1);
            previous = Some((start + items(transfer), place.after(4 * transfer.words), transfer.width));
        }
        let mut before = 0;
        for (&event, _) in controls.iter().filter(|(_, kinds)| kinds.len() == 2) {
            let between = event - before - 1;
            let full = begins.range(before + 1..event).count() as i64 == between;
            if full && between % 2 != 0 {
                self.report(tile, event, "two controls at an odd word that nothing can make even".to_owned());
            }
            before = event;
        }
    }
}
