//! The scheduler: cut, try a small portfolio of orders, keep the shortest, state what was assumed.

use super::bound::{Bound, lower_bound};
use super::cut::cut_into_messages;
use super::fabric::{Fabric, Rules};
use super::multicasts::split_multicasts;
use super::orders::{Trial, Variant, busiest_first, first_fit, rank_sum, refit, shuffled};
use super::problem::{Problem, Receiver, ScheduleError, Transfer};
use super::separate::separate_edges;

/// What the scheduler may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Freedoms of the row encoder.
    pub rules: Rules,
    /// Whether a multicast may be sent several times, each time to some of its receivers.
    pub split_multicasts: bool,
    /// Orders without a pattern that are tried, at most; none in a phase of more than
    /// 2,000 messages, or that is within a hundredth of its bound.
    pub shuffles: u32,
    /// How often the best schedule may be taken apart and refitted, at most.
    pub refits: u32,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self { rules: Rules::STRICT, split_multicasts: true, shuffles: 8, refits: 2 }
    }
}

/// One variant that was tried and the length it gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Attempt {
    /// What was tried.
    pub variant: Variant,
    /// Length of the phase it gave, in events.
    pub events: i64,
}

/// How good a schedule is.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ScheduleStatistics {
    /// Length of the phase: the last event of its longest row, guard events included.
    pub events: i64,
    /// What no schedule can beat, and why.
    pub bound: Bound,
    /// `events` over the bound; 1 for an empty phase.
    pub ratio: f64,
    /// The variant kept.
    pub variant: Variant,
    /// All variants tried, in order.
    pub attempts: Vec<Attempt>,
    /// Sends after cutting and splitting.
    pub messages: usize,
    /// Sends that repeat a multicast for some of its receivers.
    pub resends: usize,
}

/// A schedule of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The messages sent: the transfers asked for, where long ones are cut and multicasts may be split.
    /// Equal to the problem when neither happened.
    pub messages: Problem,
    /// The transfer that each message is part of, ascending.
    pub origins: Vec<u32>,
    /// Row time at which each message's first send instruction starts; its first word leaves one event later.
    pub sends: Vec<u32>,
    /// Last event of each tile's row, by logical tile; 0 where a tile does nothing.
    pub horizons: Vec<u32>,
    /// Pairs of storages that this schedule takes to lie in different elements, the lower index first, ascending.
    /// Only pairs with an unplaced member.
    pub separate: Vec<(u32, u32)>,
    /// How good it is.
    pub statistics: ScheduleStatistics,
}

/// Schedules a phase. The result is the same for the same problem and options on every machine.
///
/// # Errors
/// A malformed problem, or a transfer that no schedule can carry.
pub fn schedule_phase(problem: &Problem, options: &ScheduleOptions) -> Result<Schedule, ScheduleError> {
    problem.check()?;
    let bound = lower_bound(problem);
    let cut = cut_into_messages(problem, options.rules)?;
    let (best, variant, attempts) = run_portfolio(&cut.problem, options, &bound);
    let resends = best.placed.len() - cut.problem.transfers.len();
    let (messages, origins, sends) = messages_of(&cut.problem, &cut.origin, &best);
    let separate = separate_edges(&messages, &sends);
    let ratio = if bound.events == 0 { 1.0 } else { best.length as f64 / bound.events as f64 };
    let statistics = ScheduleStatistics {
        events: best.length,
        bound,
        ratio,
        variant,
        attempts,
        messages: sends.len(),
        resends,
    };
    Ok(Schedule { messages, origins, sends, horizons: best.horizons, separate, statistics })
}

/// Messages above which only the orders that help irregular phases are tried: each trial costs seconds there.
const LARGE_PHASE: usize = 200_000;
/// Messages above which no order without a pattern is tried.
const SHUFFLED_PHASE: usize = 2_000;

/// The shortest of all variants; the first of equals.
fn run_portfolio(
    problem: &Problem,
    options: &ScheduleOptions,
    bound: &Bound,
) -> (Trial, Variant, Vec<Attempt>) {
    let empty = Fabric::new(problem, options.rules);
    let mut best = first_fit(empty.clone(), problem, &busiest_first(problem));
    let mut variant = Variant::BusiestFirst;
    let mut attempts = vec![Attempt { variant, events: best.length }];
    let unicast = problem.transfers.iter().all(|transfer| transfer.receivers == 1);
    let others = [Variant::GivenOrder, Variant::RankSum, Variant::SplitMulticasts];
    let refits = std::iter::repeat_n(Variant::Refit, options.refits as usize);
    let large = problem.transfers.len() > LARGE_PHASE;
    let shuffles = (0..options.shuffles).map(Variant::Shuffled);
    let small = problem.transfers.len() <= SHUFFLED_PHASE;
    for candidate in others.into_iter().chain(shuffles).chain(refits) {
        if large && matches!(candidate, Variant::RankSum | Variant::Refit) {
            continue;
        }
        let target =
            if unicast || !options.split_multicasts { bound.single_send_events } else { bound.events };
        if best.length <= target {
            break;
        }
        let near = best.length <= target + target / 100;
        if matches!(candidate, Variant::Shuffled(_)) && (near || !small) {
            continue;
        }
        let trial = match candidate {
            Variant::BusiestFirst => None,
            Variant::GivenOrder => {
                let order: Vec<u32> = (0..problem.transfers.len() as u32).collect();
                Some(first_fit(empty.clone(), problem, &order))
            }
            Variant::RankSum => rank_sum(problem).map(|order| first_fit(empty.clone(), problem, &order)),
            Variant::SplitMulticasts => {
                (options.split_multicasts && !unicast).then(|| split_multicasts(empty.clone(), problem))
            }
            Variant::Shuffled(number) => Some(first_fit(empty.clone(), problem, &shuffled(problem, number))),
            Variant::Refit => Some(refit(empty.clone(), problem, &best)),
        };
        let Some(trial) = trial else { continue };
        attempts.push(Attempt { variant: candidate, events: trial.length });
        if trial.length < best.length {
            (best, variant) = (trial, candidate);
        } else if candidate == Variant::Refit {
            break;
        }
    }
    (best, variant, attempts)
}

/// The sends of a trial as a problem of their own, by message and start, with origins and starts.
fn messages_of(problem: &Problem, origins: &[u32], trial: &Trial) -> (Problem, Vec<u32>, Vec<u32>) {
    let mut placed = trial.placed.clone();
    placed.sort_by_key(|placed| (placed.message, placed.start));
    let sends = placed.iter().map(|placed| placed.start as u32).collect();
    let sent_origins = placed.iter().map(|placed| origins[placed.message as usize]).collect();
    if placed.len() == problem.transfers.len() {
        return (problem.clone(), sent_origins, sends);
    }
    let mut messages = Problem {
        segments: problem.segments.clone(),
        storages: problem.storages.clone(),
        ..Problem::default()
    };
    for sent in &placed {
        let receivers: Vec<Receiver> =
            trial.routes_of(sent).iter().map(|&route| problem.receivers[route as usize]).collect();
        let transfer = Transfer {
            first_receiver: messages.receivers.len() as u32,
            receivers: sent.routes,
            ..problem.transfers[sent.message as usize]
        };
        messages.receivers.extend(receivers);
        messages.transfers.push(transfer);
    }
    (messages, sent_origins, sends)
}
