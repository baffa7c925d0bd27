//! Orders in which messages are offered to the fabric, and the trial that one order gives.

use ipu_device::topology::TILE_COUNT;

use super::bound::transfer_events;
use super::fabric::Fabric;
use super::problem::{Problem, Transfer};

/// A way to schedule a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Messages of the busiest tile first, each at its first fit.
    BusiestFirst,
    /// Messages as the problem lists them, each at its first fit.
    GivenOrder,
    /// Rounds in which the ranks of sender and receiver have one sum: senders and receivers both walk their memory
    /// upwards, so that streams and pointers run on.
    RankSum,
    /// Receivers in order of load fill their events with the multicast that serves most others at once; receivers
    /// that could not listen get a resend.
    SplitMulticasts,
    /// Messages of the busiest tile first, equal ones in an order that follows no pattern; this is the number of the order.
    Shuffled(u32),
    /// The best schedule so far, taken apart and refitted in the order of its starts.
    Refit,
}

/// A message with its start and the receivers that this send serves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) message: u32,
    pub(crate) start: i64,
    /// Range in [`Trial::routes`].
    pub(crate) first_route: u32,
    pub(crate) routes: u32,
}

/// A complete schedule of one variant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trial {
    pub(crate) placed: Vec<Placed>,
    pub(crate) routes: Vec<u32>,
    pub(crate) length: i64,
    pub(crate) horizons: Vec<u32>,
}

impl Trial {
    pub(crate) fn push(&mut self, message: u32, routes: &[u32], start: i64) {
        let first_route = self.routes.len() as u32;
        self.routes.extend_from_slice(routes);
        self.placed.push(Placed { message, start, first_route, routes: routes.len() as u32 });
    }

    pub(crate) fn routes_of(&self, placed: &Placed) -> &[u32] {
        &self.routes[placed.first_route as usize..(placed.first_route + placed.routes) as usize]
    }

    pub(crate) fn finish(mut self, fabric: &Fabric<'_>) -> Self {
        self.length = fabric.length();
        self.horizons = fabric.horizons();
        self
    }
}

/// All receivers of a message, as indices of [`Problem::receivers`].
pub(crate) fn all_routes(transfer: &Transfer) -> impl Iterator<Item = u32> + use<> {
    transfer.first_receiver..transfer.first_receiver + transfer.receivers
}

/// Events that each tile sends and receives.
pub(crate) fn loads(problem: &Problem) -> (Vec<u64>, Vec<u64>) {
    let mut out = vec![0; usize::from(TILE_COUNT)];
    let mut into = out.clone();
    for transfer in &problem.transfers {
        let events = u64::from(transfer_events(transfer));
        out[usize::from(transfer.source.0)] += events;
        for receiver in problem.receivers_of(transfer) {
            into[usize::from(receiver.tile.0)] += events;
        }
    }
    (out, into)
}

/// Messages by the load of their busiest end, then of the other end, then by length; all descending.
pub(crate) fn busiest_first(problem: &Problem) -> Vec<u32> {
    by_load(problem, |_| 0)
}

/// As [`busiest_first`], equal ones in pseudo-random order number `order`.
pub(crate) fn shuffled(problem: &Problem, order: u32) -> Vec<u32> {
    by_load(problem, |message| mixed(u64::from(order) << 32 | u64::from(message)))
}

/// The mixing function of SplitMix64: neighbouring numbers give unrelated ones.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn by_load(problem: &Problem, tie: impl Fn(u32) -> u64) -> Vec<u32> {
    let (out, into) = loads(problem);
    let key = |transfer: &Transfer| {
        let send = out[usize::from(transfer.source.0)];
        let receives =
            problem.receivers_of(transfer).iter().map(|receiver| into[usize::from(receiver.tile.0)]);
        let receive = receives.max().unwrap_or(0);
        std::cmp::Reverse((send.max(receive), send.min(receive), transfer_events(transfer)))
    };
    let key = |message: u32| (key(&problem.transfers[message as usize]), tie(message));
    let mut order: Vec<u32> = (0..problem.transfers.len() as u32).collect();
    order.sort_by_cached_key(|&message| key(message));
    order
}

/// Unicasts by the sum of the ranks of their ends among all tiles that take part; `None` with multicasts.
pub(crate) fn rank_sum(problem: &Problem) -> Option<Vec<u32>> {
    let mut used = vec![false; usize::from(TILE_COUNT)];
    for transfer in &problem.transfers {
        let [receiver] = problem.receivers_of(transfer) else { return None };
        used[usize::from(transfer.source.0)] = true;
        used[usize::from(receiver.tile.0)] = true;
    }
    let ranks: Vec<u32> = used
        .iter()
        .scan(0, |rank, &used| {
            let own = *rank;
            *rank += u32::from(used);
            Some(own)
        })
        .collect();
    let count = used.iter().filter(|&&used| used).count().max(1) as u32;
    let key = |&message: &u32| {
        let transfer = &problem.transfers[message as usize];
        let receiver = problem.receivers[transfer.first_receiver as usize];
        let source = ranks[usize::from(transfer.source.0)];
        ((source + ranks[usize::from(receiver.tile.0)]) % count, source)
    };
    let mut order: Vec<u32> = (0..problem.transfers.len() as u32).collect();
    order.sort_by_key(key);
    Some(order)
}

/// Gives each message, whole and in this order, its first fit.
pub(crate) fn first_fit(mut fabric: Fabric<'_>, problem: &Problem, order: &[u32]) -> Trial {
    let mut trial = Trial::default();
    let mut routes = Vec::new();
    for &message in order {
        let transfer = &problem.transfers[message as usize];
        routes.clear();
        routes.extend(all_routes(transfer));
        let start = fabric.first_fit(transfer, &routes, 0);
        fabric.commit(transfer, &routes, start);
        trial.push(message, &routes, start);
    }
    trial.finish(&fabric)
}

/// Refits the sends of a trial in the order of their starts.
pub(crate) fn refit(mut fabric: Fabric<'_>, problem: &Problem, from: &Trial) -> Trial {
    let mut order = from.placed.clone();
    order.sort_by_key(|placed| (placed.start, placed.message));
    let mut trial = Trial::default();
    for placed in &order {
        let transfer = &problem.transfers[placed.message as usize];
        let routes = from.routes_of(placed);
        let start = fabric.first_fit(transfer, routes, 0);
        fabric.commit(transfer, routes, start);
        trial.push(placed.message, routes, start);
    }
    trial.finish(&fabric)
}
