//! What every tile does at every event, as far as it is decided; finds the first start at which a message fits.
//!
//! The rules (exchange notes, section 5):
//!
//! 1. sends of a tile, and intervals in which it lends its lane, are disjoint;
//! 2. receive windows of a tile are disjoint; a paired window keeps one event of distance on both sides, so that
//!    its format writes lie after the last and before the first ordinary word;
//! 3. two controls share an event only as a source select and a pointer; format and paired select writes share
//!    with nothing. Such a double needs an even word index in the row, which some instruction of two or more
//!    events before it can provide by being split: see [`Alignment`];
//! 4. no control at events S and S + 1 of a send that starts at S, unless the send continues the stream before
//!    it ([`Rules::continue_streams`]) or, at S alone, [`Rules::control_at_send_start`];
//! 5. no receive select before event 1, no send before row time 0;
//! 6. memory elements: [`Banks`].
//!
//! The controls of a message at a receiver are: select at x, neutral at x + n unless another window starts there,
//! pointer at the first write unless the window before ended at x and its destination runs on, and a pointer a segment.

use ipu_device::hash::HashMap;
use smallvec::SmallVec;

use ipu_device::topology::TILE_COUNT;

use super::banks::Banks;
use super::bound::{GUARD_EVENTS, mux_time, transfer_events};
use super::event_set::EventSet;
use super::problem::{Place, Problem, Receiver, Transfer, Width};

/// Which of the freedoms that hardware has not confirmed a schedule may use, and what the row encoder can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A send may continue the one before it where it ends at its start and in memory: one stream that serves
    /// several receivers in turn, driving both directions, in which controls may fall anywhere.
    pub continue_streams: bool,
    /// A control may take effect at the event S at which a send starts; only S + 1 is its first word's.
    pub control_at_send_start: bool,
}

impl Rules {
    /// The rules of the exchange notes to the letter.
    pub const STRICT: Self = Self { continue_streams: false, control_at_send_start: false };
    /// Everything that the instruction encodings can express.
    pub const STREAMS: Self = Self { continue_streams: true, control_at_send_start: true };
}

/// What a receiver does for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// 32-bit words.
    Word,
    /// 64-bit items, and it selects the source for its pair.
    Early,
    /// 64-bit items selected by its partner.
    Late,
}

/// A receiver of a transfer with its timing.
#[derive(Debug, Clone, Copy)]
struct Route {
    tile: u16,
    time: i16,
    /// Events from the select to the first write.
    write_delay: i16,
    role: Role,
}

#[derive(Debug, Clone, Default)]
struct Tile {
    sends: EventSet,
    windows: EventSet,
    selects: EventSet,
    pointers: EventSet,
    exclusive: EventSet,
    /// Events that a send start keeps free of controls.
    starts: EventSet,
    /// Events at which a send begins or has just ended.
    edges: EventSet,
    /// Row times at which the tile itself sends; lending is not sending.
    streams: EventSet,
    horizon: i64,
}

impl Tile {
    fn is_control(&self, event: i64) -> bool {
        self.selects.contains(event) || self.pointers.contains(event) || self.exclusive.contains(event)
    }

    fn is_double(&self, event: i64) -> bool {
        self.selects.contains(event) && self.pointers.contains(event)
    }
}

/// The controls that one message puts on one receiver.
#[derive(Debug, Default)]
struct Controls {
    selects: SmallVec<[i64; 2]>,
    pointers: SmallVec<[i64; 4]>,
    exclusive: SmallVec<[i64; 4]>,
    /// Edges of the message's own send, where the receiver is its source.
    edges: SmallVec<[i64; 2]>,
}

/// Whether double controls of a tile can lie on even words, with the controls of one more message.
///
/// A row may say less than is decided here: a select of the source that is selected already and a pointer to where the
/// cursor stands are left out, which depends on addresses. So the rule holds however many controls around a double are left
/// out: an instruction of two or more events ends where the double begins, or where the double before it does. While
/// nothing is sent a control ends its instruction, while something is sent it begins one.
struct Alignment<'a> {
    tile: &'a Tile,
    controls: &'a Controls,
    /// Row times at which the message is sent by this tile.
    stream: std::ops::Range<i64>,
}

impl Alignment<'_> {
    fn is_select(&self, event: i64) -> bool {
        self.tile.selects.contains(event) || self.controls.selects.contains(&event)
    }

    fn is_pointer(&self, event: i64) -> bool {
        self.tile.pointers.contains(event) || self.controls.pointers.contains(&event)
    }

    fn is_control(&self, event: i64) -> bool {
        self.is_select(event)
            || self.is_pointer(event)
            || self.tile.exclusive.contains(event)
            || self.controls.exclusive.contains(&event)
    }

    fn is_double(&self, event: i64) -> bool {
        self.is_select(event) && self.is_pointer(event)
    }

    fn is_edge(&self, event: i64) -> bool {
        self.tile.edges.contains(event) || self.controls.edges.contains(&event)
    }

    fn is_sending(&self, time: i64) -> bool {
        self.tile.streams.contains(time) || self.stream.contains(&time)
    }

    /// Whether an instruction of two or more events ends where one for a double at `event` begins.
    fn has_gap(&self, event: i64) -> bool {
        let sending = || self.is_sending(event - 3) && self.is_sending(event - 2);
        !self.is_control(event - 1) && !self.is_edge(event - 1) && (!self.is_control(event - 2) || sending())
    }

    /// Whether there is no double at `event`, or it can be aligned.
    fn holds_at(&self, event: i64) -> bool {
        !self.is_double(event)
            || self.has_gap(event)
            || (self.is_double(event - 1) && self.has_gap(event - 1))
    }

    /// Whether the message's controls and edges leave all doubles aligned.
    fn holds(&self) -> bool {
        let Controls { selects, pointers, exclusive, edges } = self.controls;
        let mut controls = selects.iter().chain(pointers).chain(exclusive);
        controls.all(|&control| (control..=control + 3).all(|event| self.holds_at(event)))
            && edges.iter().all(|&edge| (edge + 1..=edge + 2).all(|event| self.holds_at(event)))
    }
}

/// Where a message lies in one receiver's time and memory.
struct Window {
    select: i64,
    write: i64,
    begin: Place,
    end: Place,
}

/// The occupancy of all tiles.
#[derive(Debug, Clone)]
pub(crate) struct Fabric<'a> {
    problem: &'a Problem,
    rules: Rules,
    routes: Vec<Route>,
    tiles: Vec<Tile>,
    banks: Banks,
    /// Place after the last word of the send that ends at a row time, by source.
    send_ends: HashMap<(u16, i64), (Place, Width)>,
    /// Place after the last word of the window that ends at an event, by receiver.
    window_ends: HashMap<(u16, i64), Place>,
    /// First place of the window that starts at an event.
    window_begins: HashMap<(u16, i64), Place>,
}

impl<'a> Fabric<'a> {
    /// Nothing decided. The problem must have passed [`Problem::check`].
    pub(crate) fn new(problem: &'a Problem, rules: Rules) -> Self {
        let mut routes = Vec::with_capacity(problem.receivers.len());
        // Receivers may be shared or reordered by transfers, so routes follow the transfers' own ranges.
        routes.resize(problem.receivers.len(), Route { tile: 0, time: 0, write_delay: 0, role: Role::Word });
        for transfer in &problem.transfers {
            let first = transfer.first_receiver as usize;
            for (route, receiver) in routes[first..].iter_mut().zip(problem.receivers_of(transfer)) {
                *route = Self::route(transfer, receiver);
            }
        }
        Self {
            problem,
            rules,
            routes,
            tiles: vec![Tile::default(); usize::from(TILE_COUNT)],
            banks: Banks::new(problem),
            send_ends: HashMap::default(),
            window_ends: HashMap::default(),
            window_begins: HashMap::default(),
        }
    }

    fn route(transfer: &Transfer, receiver: &Receiver) -> Route {
        let (source, tile) = (transfer.source.physical(), receiver.tile.physical());
        let time = mux_time(transfer.width, source, tile);
        let role = match transfer.width {
            Width::Word => Role::Word,
            Width::Paired if ipu_device::topology::early_member(source, tile) == tile => Role::Early,
            Width::Paired => Role::Late,
        };
        let write_delay = tile.mux_to_write() + i64::from(transfer.width == Width::Paired);
        Route { tile: receiver.tile.0, time: time as i16, write_delay: write_delay as i16, role }
    }

    /// The mux instant, on receiver `route`, of the first word of its transfer sent at row time 0.
    pub(crate) fn select_of(&self, route: u32, start: i64) -> i64 {
        start + 1 + i64::from(self.routes[route as usize].time)
    }

    /// The first row time at which `route`'s source select is not before event 1.
    pub(crate) fn earliest(&self, route: u32) -> i64 {
        i64::from(-self.routes[route as usize].time).max(0)
    }

    /// The next event at or after `select` where receiver `route` has `events` free events.
    pub(crate) fn next_window(&self, route: u32, select: i64, events: i64) -> i64 {
        let route = self.routes[route as usize];
        let margin = i64::from(route.role != Role::Word);
        let windows = &self.tiles[usize::from(route.tile)].windows;
        windows.first_gap(select - margin, events + 2 * margin) + margin
    }

    /// Length of the longest row.
    pub(crate) fn length(&self) -> i64 {
        self.tiles.iter().map(|tile| tile.horizon).max().unwrap_or(0)
    }

    /// Last event of each tile's row, by logical tile; 0 where a tile does nothing.
    pub(crate) fn horizons(&self) -> Vec<u32> {
        self.tiles.iter().map(|tile| tile.horizon as u32).collect()
    }

    /// The first start at or after `from` at which the receivers `routes` (indices of [`Problem::receivers`]) can
    /// hear `transfer`. Ends because beyond everything decided any transfer fits that [`Self::fits_alone`].
    pub(crate) fn first_fit(&self, transfer: &Transfer, routes: &[u32], from: i64) -> i64 {
        let mut start = routes.iter().fold(from.max(0), |start, &route| start.max(self.earliest(route)));
        loop {
            let next = self.next_free(transfer, routes, start);
            if next == start {
                if self.controls_fit(transfer, routes, start) {
                    return start;
                }
                start += 1;
            } else {
                start = next;
            }
        }
    }

    /// Whether `start` itself obeys every rule.
    pub(crate) fn fits(&self, transfer: &Transfer, routes: &[u32], start: i64) -> bool {
        start >= 0
            && routes.iter().all(|&route| start >= self.earliest(route))
            && self.next_free(transfer, routes, start) == start
            && self.controls_fit(transfer, routes, start)
    }

    /// Whether the transfer's own controls leave room for each other.
    pub(crate) fn fits_alone(&self, transfer: &Transfer, routes: &[u32]) -> bool {
        const FAR_FROM_ROW_START: i64 = 1024;
        self.controls_fit(transfer, routes, FAR_FROM_ROW_START)
    }

    /// One round of moving `start` on until lanes and elements are free.
    fn next_free(&self, transfer: &Transfer, routes: &[u32], start: i64) -> i64 {
        let events = i64::from(transfer_events(transfer));
        let mut next = self.tiles[usize::from(transfer.source.0)].sends.first_gap(start, events);
        if transfer.width == Width::Paired {
            next = self.tiles[usize::from(transfer.source.partner().0)].sends.first_gap(next, events);
        }
        next = self.banks.next_send(self.problem, transfer, next, events);
        for &index in routes {
            let select = self.select_of(index, next);
            next += self.next_window(index, select, events) - select;
            let write = self.select_of(index, next) + i64::from(self.routes[index as usize].write_delay);
            let receiver = &self.problem.receivers[index as usize];
            let occupied = events - 1 + GUARD_EVENTS;
            next += self.banks.next_write(self.problem, transfer, receiver, write, occupied) - write;
        }
        next
    }

    fn continues(&self, transfer: &Transfer, start: i64) -> bool {
        let place = self.problem.place(transfer.storage, i64::from(transfer.offset));
        self.rules.continue_streams
            && self.send_ends.get(&(transfer.source.0, start)) == Some(&(place, transfer.width))
    }

    fn controls_fit(&self, transfer: &Transfer, routes: &[u32], start: i64) -> bool {
        let events = i64::from(transfer_events(transfer));
        let continues = self.continues(transfer, start);
        let source = &self.tiles[usize::from(transfer.source.0)];
        let at_start = !continues && !self.rules.control_at_send_start && source.is_control(start);
        if at_start || (!continues && source.is_control(start + 1)) {
            return false;
        }
        let edges =
            Controls { edges: SmallVec::from([start + 1, start + events + 1]), ..Controls::default() };
        if !(Alignment { tile: source, controls: &edges, stream: start..start + events }).holds() {
            return false;
        }
        routes.iter().all(|&index| {
            let window = self.window(transfer, index, start);
            let controls = self.controls(transfer, index, start, &window);
            self.receiver_fits(transfer, index, start, continues, &controls)
                && self.next_may_run_on(index, events, &window)
        })
    }

    fn window(&self, transfer: &Transfer, index: u32, start: i64) -> Window {
        let receiver = &self.problem.receivers[index as usize];
        let select = self.select_of(index, start);
        let last = self.problem.segments_of(transfer).last();
        let (word, displacement) =
            last.map_or((0, 0), |segment| (segment.word, i64::from(segment.displacement)));
        let begin = self.problem.place(receiver.storage, i64::from(receiver.offset));
        let tail = self.problem.place(receiver.storage, i64::from(receiver.offset) + displacement);
        Window {
            select,
            write: select + i64::from(self.routes[index as usize].write_delay),
            begin,
            end: tail.after(4 * (transfer.words - word)),
        }
    }

    fn controls(&self, transfer: &Transfer, index: u32, start: i64, window: &Window) -> Controls {
        let route = self.routes[index as usize];
        let events = i64::from(transfer_events(transfer));
        let mut controls = Controls::default();
        let words_per_event = match route.role {
            Role::Word => {
                controls.selects.extend([window.select, window.select + events]);
                1
            }
            Role::Early => {
                controls.exclusive.extend([window.select, window.select + events]);
                2
            }
            Role::Late => 2,
        };
        if route.role != Role::Word {
            controls.exclusive.extend([window.write - 2, window.write - 2 + events]);
        }
        if route.role != Role::Word
            || self.window_ends.get(&(route.tile, window.select)) != Some(&window.begin)
        {
            controls.pointers.push(window.write);
        }
        for segment in self.problem.segments_of(transfer) {
            controls.pointers.push(window.write + i64::from(segment.word / words_per_event));
        }
        if route.tile == transfer.source.0 {
            controls.edges.extend([start + 1, start + events + 1]);
        }
        controls
    }

    fn receiver_fits(
        &self,
        transfer: &Transfer,
        index: u32,
        start: i64,
        continues: bool,
        controls: &Controls,
    ) -> bool {
        let route = self.routes[index as usize];
        let tile = &self.tiles[usize::from(route.tile)];
        let own_start = |event: i64| {
            route.tile == transfer.source.0
                && !continues
                && (event == start + 1 || (event == start && !self.rules.control_at_send_start))
        };
        let select = |event: i64| tile.selects.contains(event) || controls.selects.contains(&event);
        let pointer = |event: i64| tile.pointers.contains(event) || controls.pointers.contains(&event);
        let mut ordinary = controls.selects.iter().chain(&controls.pointers);
        let ordinary_fits = ordinary.all(|&event| {
            !tile.starts.contains(event) && !tile.exclusive.contains(event) && !own_start(event)
        });
        let alone = |event: i64, among: &[i64]| among.iter().filter(|&&other| other == event).count() == 1;
        let exclusive_fits = controls.exclusive.iter().all(|&event| {
            alone(event, &controls.exclusive)
                && !select(event)
                && !pointer(event)
                && !tile.exclusive.contains(event)
                && !tile.starts.contains(event)
                && !own_start(event)
        });
        let events = i64::from(transfer_events(transfer));
        let stream = if route.tile == transfer.source.0 { start..start + events } else { 0..0 };
        ordinary_fits && exclusive_fits && Alignment { tile, controls, stream }.holds()
    }

    /// Whether the window after this one may lose its pointer because its destination runs on.
    fn next_may_run_on(&self, index: u32, events: i64, window: &Window) -> bool {
        let route = self.routes[index as usize];
        let tile = &self.tiles[usize::from(route.tile)];
        let runs_on = route.role == Role::Word
            && self.window_begins.get(&(route.tile, window.select + events)) == Some(&window.end);
        !(runs_on && tile.is_double(window.write + events) && tile.is_double(window.write + events + 1))
    }

    /// Decides a message at a start that fits.
    pub(crate) fn commit(&mut self, transfer: &Transfer, routes: &[u32], start: i64) {
        let events = i64::from(transfer_events(transfer));
        let continues = self.continues(transfer, start);
        for &index in routes {
            let window = self.window(transfer, index, start);
            let controls = self.controls(transfer, index, start, &window);
            self.commit_window(index, events, &window, &controls);
            let receiver = &self.problem.receivers[index as usize];
            let occupied = events - 1 + GUARD_EVENTS;
            self.banks.insert_write(self.problem, transfer, receiver, window.write, occupied);
        }
        let end = self.problem.place(transfer.storage, i64::from(transfer.offset)).after(4 * transfer.words);
        if self.rules.continue_streams {
            self.send_ends.insert((transfer.source.0, start + events), (end, transfer.width));
        }
        self.banks.insert_send(self.problem, transfer, start, events);
        if transfer.width == Width::Paired {
            let lender = &mut self.tiles[usize::from(transfer.source.partner().0)];
            lender.sends.insert_range(start, start + events);
            lender.horizon = lender.horizon.max(start + events).max(GUARD_EVENTS);
        }
        let source = &mut self.tiles[usize::from(transfer.source.0)];
        source.sends.insert_range(start, start + events);
        source.horizon = source.horizon.max(start + events).max(GUARD_EVENTS);
        source.streams.insert_range(start, start + events);
        source.edges.insert(start + 1);
        source.edges.insert(start + events + 1);
        if !continues {
            source.starts.insert(start + 1);
            if !self.rules.control_at_send_start {
                source.starts.insert(start);
            }
        }
    }

    fn commit_window(&mut self, index: u32, events: i64, window: &Window, controls: &Controls) {
        let route = self.routes[index as usize];
        let margin = i64::from(route.role != Role::Word);
        let tile = &mut self.tiles[usize::from(route.tile)];
        tile.windows.insert_range(window.select - margin, window.select + events + margin);
        tile.horizon = tile.horizon.max(window.write + events - 1 + GUARD_EVENTS);
        controls.selects.iter().for_each(|&event| tile.selects.insert(event));
        controls.pointers.iter().for_each(|&event| tile.pointers.insert(event));
        controls.exclusive.iter().for_each(|&event| tile.exclusive.insert(event));
        if route.role == Role::Word {
            let after = (route.tile, window.select + events);
            if self.window_begins.get(&after) == Some(&window.end) {
                tile.pointers.remove(window.write + events);
            }
            self.window_ends.insert(after, window.end);
            self.window_begins.insert((route.tile, window.select), window.begin);
        }
    }
}
