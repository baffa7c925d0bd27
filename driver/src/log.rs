//! The event log on standard error: what each stage did, as text or JSON lines.

use tracing_subscriber::Layer;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::timing::SpanTimes;

/// Which log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// No events.
    Off,
    /// One line an event, for people.
    #[default]
    Text,
    /// One JSON object an event, with stable field names.
    Json,
}

/// Starts the log; `filter` is a level or a filter in the syntax of `RUST_LOG`. Spans are measured by `times`, if it is there.
pub fn start(format: LogFormat, filter: &str, times: Option<SpanTimes>) {
    if format == LogFormat::Off && times.is_none() {
        return;
    }
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Libraries have their own ideas of what is worth an event; theirs are no stages.
    let filter = match "egg=warn".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let log = match format {
        LogFormat::Off => None,
        LogFormat::Text => Some(layer.without_time().with_ansi(false).boxed()),
        LogFormat::Json => Some(layer.json().flatten_event(true).boxed()),
    };
    let log = log.map(|layer| layer.with_filter(filter));
    let times = times.map(|times| times.with_filter(SpanTimes::filter()));
    // A second start, as in tests, keeps the first log.
    let _ = tracing_subscriber::registry().with(log).with(times).try_init();
}
