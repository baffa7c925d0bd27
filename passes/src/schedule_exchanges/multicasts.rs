//! Receiver-driven scheduling of multicasts: a receiver that cannot listen when its multicast is sent gets a resend,
//! instead of holding up all the others.

use std::cmp::Reverse;

use ipu_device::topology::TILE_COUNT;

use super::bound::transfer_events;
use super::fabric::Fabric;
use super::orders::{Trial, all_routes, loads};
use super::problem::{Problem, Transfer, Width};

/// A message that may be sent to some of its receivers at a time.
fn is_divisible(problem: &Problem, transfer: &Transfer) -> bool {
    transfer.width == Width::Word
        && problem.receivers_of(transfer).iter().all(|receiver| receiver.tile != transfer.source)
}

struct Pending {
    /// Messages that each tile still waits for, with the route that leads there.
    by_tile: Vec<Vec<(u32, u32)>>,
    /// Whether a route has been served.
    served: Vec<bool>,
}

/// What could fill a receiver's next events; the greatest is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    /// Other receivers that the same send serves.
    serves: usize,
    events: u32,
    message: Reverse<u32>,
    /// Index among what the receiver waits for.
    position: usize,
    start: i64,
}

/// Schedules with resends. Messages that must be sent whole come first.
pub(crate) fn split_multicasts(mut fabric: Fabric<'_>, problem: &Problem) -> Trial {
    let mut trial = Trial::default();
    let mut pending = Pending {
        by_tile: vec![Vec::new(); usize::from(TILE_COUNT)],
        served: vec![false; problem.receivers.len()],
    };
    for (message, transfer) in problem.transfers.iter().enumerate() {
        let routes: Vec<u32> = all_routes(transfer).collect();
        if is_divisible(problem, transfer) {
            for route in routes {
                let tile = problem.receivers[route as usize].tile;
                pending.by_tile[usize::from(tile.0)].push((message as u32, route));
            }
        } else {
            let start = fabric.first_fit(transfer, &routes, 0);
            fabric.commit(transfer, &routes, start);
            trial.push(message as u32, &routes, start);
        }
    }
    let (_, into) = loads(problem);
    let mut order: Vec<usize> = (0..usize::from(TILE_COUNT)).filter(|&tile| into[tile] > 0).collect();
    order.sort_by_key(|&tile| Reverse(into[tile]));
    for tile in order {
        serve(&mut fabric, problem, &mut pending, tile, &mut trial);
    }
    trial.finish(&fabric)
}

/// Fills the free events of `tile` from the first on until it waits for nothing.
fn serve(fabric: &mut Fabric<'_>, problem: &Problem, pending: &mut Pending, tile: usize, trial: &mut Trial) {
    let mut waiting = std::mem::take(&mut pending.by_tile[tile]);
    waiting.retain(|&(_, route)| !pending.served[route as usize]);
    let mut event = 1;
    let mut chosen = Vec::new();
    let mut best_routes = Vec::new();
    while !waiting.is_empty() {
        let mut best: Option<Choice> = None;
        let mut next_event = i64::MAX;
        for (position, &(message, route)) in waiting.iter().enumerate() {
            let transfer = &problem.transfers[message as usize];
            let start = event - fabric.select_of(route, 0);
            if !fabric.fits(transfer, &[route], start) {
                let later = fabric.first_fit(transfer, &[route], start);
                next_event = next_event.min(fabric.select_of(route, later));
                continue;
            }
            chosen.clear();
            chosen.push(route);
            let serves = serve_others(fabric, pending, transfer, route, start, &mut chosen);
            let choice = Choice {
                serves,
                events: transfer_events(transfer),
                message: Reverse(message),
                position,
                start,
            };
            if best.is_none_or(|best| choice > best) {
                best = Some(choice);
                std::mem::swap(&mut best_routes, &mut chosen);
            }
        }
        let Some(Choice { position, start, .. }) = best else {
            event = next_event;
            continue;
        };
        let (message, _) = waiting.remove(position);
        let transfer = &problem.transfers[message as usize];
        best_routes.sort_unstable();
        fabric.commit(transfer, &best_routes, start);
        trial.push(message, &best_routes, start);
        for &route in &best_routes {
            pending.served[route as usize] = true;
        }
        event += i64::from(transfer_events(transfer));
    }
}

/// Adds to `chosen` the other receivers that still wait for the message and can hear it at `start`; returns how
/// many there are.
fn serve_others(
    fabric: &Fabric<'_>,
    pending: &Pending,
    transfer: &Transfer,
    own: u32,
    start: i64,
    chosen: &mut Vec<u32>,
) -> usize {
    let before = chosen.len();
    let waits = |&route: &u32| route != own && !pending.served[route as usize];
    chosen.extend(all_routes(transfer).filter(waits).filter(|&route| fabric.fits(transfer, &[route], start)));
    chosen.len() - before
}
