//! The event log on standard error: what each stage did, as text or JSON lines.

use tracing_subscriber::filter::EnvFilter;

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

/// Starts the log; `filter` is a level or a filter in the syntax of `RUST_LOG`.
pub fn start(format: LogFormat, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Libraries have their own ideas of what is worth an event; theirs are no stages.
    let filter = match "egg=warn".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // A second start, as in tests, keeps the first log.
    let _ = match format {
        LogFormat::Off => return,
        LogFormat::Text => builder.without_time().with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
