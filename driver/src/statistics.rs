//! `--stats`: what passes counted, as JSON lines or as a table.

use ipu_passes::manager::Statistics;
use serde_json::Value;

/// How statistics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StatisticsFormat {
    /// One object a line, with the keys `pass`, `name` and `value`.
    Json,
    /// A table for people.
    Text,
}

/// Writes the statistics to standard error.
pub fn write_statistics(statistics: &Statistics, format: StatisticsFormat) {
    match format {
        StatisticsFormat::Json => {
            for entry in statistics.iter() {
                eprintln!("{}", serde_json::to_string(entry).unwrap_or_default());
            }
        }
        StatisticsFormat::Text => eprint!("{}", table(statistics)),
    }
}

/// A line for every figure; those of an object are named by the object and their key. Of a list its length is shown.
fn table(statistics: &Statistics) -> String {
    let mut text = String::new();
    for entry in statistics.iter() {
        match &entry.value {
            Value::Object(figures) => {
                for (key, value) in figures.iter().filter(|(_, value)| !value.is_object()) {
                    text.push_str(&row(entry.pass, &format!("{}.{key}", entry.name), value));
                }
            }
            value => text.push_str(&row(entry.pass, entry.name, value)),
        }
    }
    text
}

fn row(pass: &str, name: &str, value: &Value) -> String {
    let shown = match value {
        // What has lines of its own stands below its name.
        Value::String(text) if text.contains('\n') => format!("\n{}", text.trim_matches('\n')),
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("{:>12}", list.len()),
        other => format!("{:>12}", other.to_string()),
    };
    format!("{pass:28} {name:36} {shown}\n")
}
