//! `--timing`: where the time goes, measured at the spans of the event log.
//!
//! Whatever is worth a line of a time table is a `tracing` span: parsing, verifying, printing, each pass, and what a pass finds
//! worth measuring inside. [`SpanTimes`] keeps when each was entered and left, on which thread. A span with a field `name` is
//! called by its kind and that name, as in `pass place-storage`. Without `--timing` spans cost nothing.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::exit::Failure;
use crate::files::write_whole;

/// How times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TimingFormat {
    /// A tree for people.
    Text,
    /// One object of stable keys.
    Json,
    /// A trace that Perfetto and `chrome://tracing` load.
    Chrome,
}

/// Times of a process, and where they go.
#[derive(Debug)]
pub struct Timing {
    format: TimingFormat,
    output: Option<PathBuf>,
    times: SpanTimes,
}

impl Timing {
    /// Starts the clock; the report goes to `output`, or to standard error.
    #[must_use]
    pub fn new(format: TimingFormat, output: Option<PathBuf>) -> Self {
        Self { format, output, times: SpanTimes::new() }
    }

    /// What listens to the spans.
    #[must_use]
    pub fn spans(&self) -> SpanTimes {
        self.times.clone()
    }

    /// Writes the report.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn report(&self) -> Result<(), Failure> {
        let total = self.times.start.elapsed();
        let log = self.times.lock();
        let text = match self.format {
            TimingFormat::Text => text(&log, total),
            TimingFormat::Json => format!("{}\n", totals_json(&log, total)),
            TimingFormat::Chrome => format!("{}\n", chrome(&log)),
        };
        match &self.output {
            Some(path) => write_whole(path, text.as_bytes()),
            None => {
                eprint!("{text}");
                Ok(())
            }
        }
    }
}

/// A span as it was made.
#[derive(Debug)]
struct Made {
    label: String,
    kind: &'static str,
    parent: Option<usize>,
}

/// One time that a span was entered and left.
#[derive(Debug)]
struct Slice {
    span: usize,
    /// 0 is the main thread, others are workers.
    thread: usize,
    started: Duration,
    elapsed: Duration,
}

#[derive(Debug, Default)]
struct Log {
    made: Vec<Made>,
    slices: Vec<Slice>,
}

/// The layer that keeps when spans are entered and left.
#[derive(Debug, Clone)]
pub struct SpanTimes {
    start: Instant,
    log: Arc<Mutex<Log>>,
}

/// Place of a span in [`Log::made`].
struct Place(usize);

thread_local! {
    /// When the spans that this thread is in were entered, innermost last.
    static ENTERED: RefCell<Vec<Instant>> = const { RefCell::new(Vec::new()) };
}

impl SpanTimes {
    fn new() -> Self {
        Self { start: Instant::now(), log: Arc::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        // A panic elsewhere does not harm a list that is only appended to.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The spans that are measured: those of this workspace, down to level `debug`.
    #[must_use]
    pub fn filter() -> FilterFn {
        let measured: fn(&Metadata<'_>) -> bool = |metadata| {
            metadata.is_span() && metadata.target().starts_with("ipu") && *metadata.level() <= Level::DEBUG
        };
        filter_fn(measured).with_max_level_hint(LevelFilter::DEBUG)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanTimes {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut name = Name::default();
        attributes.record(&mut name);
        let kind = attributes.metadata().name();
        let label = name.0.map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}"));
        let parent = span.parent().and_then(|parent| parent.extensions().get::<Place>().map(|place| place.0));
        let mut log = self.lock();
        span.extensions_mut().insert(Place(log.made.len()));
        log.made.push(Made { label, kind, parent });
    }

    fn on_enter(&self, _id: &Id, _context: Context<'_, S>) {
        ENTERED.with_borrow_mut(|entered| entered.push(Instant::now()));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(entered) = ENTERED.with_borrow_mut(Vec::pop) else { return };
        let elapsed = entered.elapsed();
        let place = context.span(id).and_then(|span| span.extensions().get::<Place>().map(|place| place.0));
        let Some(span) = place else { return };
        let thread = rayon::current_thread_index().map_or(0, |index| index + 1);
        let started = entered.duration_since(self.start);
        self.lock().slices.push(Slice { span, thread, started, elapsed });
    }
}

/// Reads the field `name`.
#[derive(Default)]
struct Name(Option<String>);

impl Visit for Name {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "name" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "name" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

/// All spans of one label below the same parents.
#[derive(Debug)]
struct Total {
    depth: usize,
    path: Vec<String>,
    calls: usize,
    elapsed: Duration,
    /// Time in spans below, all threads together.
    below: Duration,
}

/// Sums by path, parents before what is below them, in order of first appearance.
fn totals(log: &Log) -> Vec<Total> {
    // Spans are made after their parents, so one pass finds every path.
    let mut places: Vec<usize> = Vec::with_capacity(log.made.len());
    let mut known: IndexMap<(Option<usize>, &str), Total> = IndexMap::new();
    for made in &log.made {
        let parent = made.parent.map(|parent| places[parent]);
        let mut path = parent.map_or_else(Vec::new, |parent| known[parent].path.clone());
        path.push(made.label.clone());
        let entry = known.entry((parent, &made.label));
        places.push(entry.index());
        let fresh =
            Total { depth: path.len() - 1, path, calls: 0, elapsed: Duration::ZERO, below: Duration::ZERO };
        entry.or_insert(fresh);
    }
    let parents: Vec<Option<usize>> = known.keys().map(|(parent, _)| *parent).collect();
    for slice in &log.slices {
        let place = places[slice.span];
        known[place].calls += 1;
        known[place].elapsed += slice.elapsed;
        if let Some(parent) = parents[place] {
            known[parent].below += slice.elapsed;
        }
    }
    in_tree_order(known.into_values().collect(), &parents)
}

fn in_tree_order(totals: Vec<Total>, parents: &[Option<usize>]) -> Vec<Total> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); totals.len()];
    let mut waiting: Vec<usize> = Vec::new();
    for (place, parent) in parents.iter().enumerate().rev() {
        match parent {
            Some(parent) => below[*parent].push(place),
            None => waiting.push(place),
        }
    }
    let mut totals: Vec<Option<Total>> = totals.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(totals.len());
    while let Some(place) = waiting.pop() {
        ordered.extend(totals[place].take());
        waiting.append(&mut below[place]);
    }
    ordered
}

fn text(log: &Log, total: Duration) -> String {
    let mut text = format!("{:>12}  {:>6}  {:>6}  {}\n", "us", "share", "calls", "span");
    for entry in totals(log) {
        let share = 100.0 * entry.elapsed.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let label = entry.path.last().map_or("", String::as_str);
        let (micros, calls, indent) = (entry.elapsed.as_micros(), entry.calls, entry.depth * 2);
        let _ = writeln!(text, "{micros:>12}  {share:>5.1}%  {calls:>6}  {:indent$}{label}", "");
    }
    let _ = writeln!(text, "{:>12}  {:>5.1}%  {:>6}  from start to end", total.as_micros(), 100.0, 1);
    text
}

fn totals_json(log: &Log, total: Duration) -> Value {
    let micros = |time: Duration| time.as_micros() as u64;
    let spans: Vec<Value> = totals(log)
        .into_iter()
        .map(|entry| {
            json!({"path": entry.path, "calls": entry.calls, "us": micros(entry.elapsed),
                   "self_us": micros(entry.elapsed.saturating_sub(entry.below))})
        })
        .collect();
    json!({"total_us": micros(total), "threads": rayon::current_num_threads(), "spans": spans})
}

/// Complete events of the trace format, one a slice, with times in microseconds.
fn chrome(log: &Log) -> Value {
    let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
    let mut slices: Vec<&Slice> = log.slices.iter().collect();
    slices.sort_by_key(|slice| (slice.started, std::cmp::Reverse(slice.elapsed)));
    let events = slices.into_iter().map(|slice| {
        let Made { label, kind, .. } = &log.made[slice.span];
        json!({"name": label, "cat": kind, "ph": "X", "ts": micros(slice.started), "dur": micros(slice.elapsed),
               "pid": 1, "tid": slice.thread})
    });
    Value::Array(events.collect())
}
