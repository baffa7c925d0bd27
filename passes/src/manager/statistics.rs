//! What passes count and decompose, in the order in which they report it.

use serde::Serialize;
use serde_json::Value;

/// One statement of a pass about its work: a count, a figure, or an object of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistic {
    /// The pass that says so.
    pub pass: &'static str,
    /// What is counted, a stable key.
    pub name: &'static str,
    /// The figure.
    pub value: Value,
}

/// All statistics of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Statistics(Vec<Statistic>);

impl Statistics {
    /// Records a figure.
    pub fn record(&mut self, pass: &'static str, name: &'static str, value: impl Into<Value>) {
        self.0.push(Statistic { pass, name, value: value.into() });
    }

    /// All records in order.
    pub fn iter(&self) -> impl Iterator<Item = &Statistic> {
        self.0.iter()
    }

    /// The last record of that pass and name.
    #[must_use]
    pub fn last(&self, pass: &str, name: &str) -> Option<&Value> {
        self.0.iter().rev().find(|entry| entry.pass == pass && entry.name == name).map(|entry| &entry.value)
    }
}
