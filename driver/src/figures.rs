//! Figures of a compilation, collected as the program comes down: its price, phases, tiles, rows.

use std::collections::BTreeSet;

use ipu_dialects::exchange::{Program, Step};
use ipu_dialects::ir::Module;
use ipu_passes::manager::state::main_program;
use ipu_passes::manager::{Instrumentation, PipelineEntry, State, Statistics, registry};
use ipu_passes::price_program::{ProgramPrice, price_program};
use ipu_passes::select_plans::Prices;
use serde_json::{Map, Value};

/// Watches a pipeline and keeps the figures of the last exchange program that it sees.
#[derive(Debug)]
pub struct Figures {
    prices: Prices,
    program: Option<ProgramFigures>,
}

/// Figures of an exchange program.
#[derive(Debug)]
struct ProgramFigures {
    price: ProgramPrice,
    /// Phases, those in repeats once.
    phases: usize,
    /// Tiles of the program.
    tiles: usize,
    /// Tiles that run a kernel or take part in a phase.
    active_tiles: usize,
}

impl Figures {
    /// Figures by that price list.
    #[must_use]
    pub fn new(prices: Prices) -> Self {
        Self { prices, program: None }
    }

    /// Reads the exchange program of `module`, if it is one.
    pub fn observe(&mut self, module: &Module) {
        let program = main_program(module).and_then(|op| Program::read(module, op).ok());
        let Some(program) = program.filter(|_| State::Exchange.lacking(module).is_none()) else { return };
        let Ok(price) = price_program(&program, self.prices) else { return };
        let mut active = BTreeSet::new();
        for step in &program.steps {
            match step {
                Step::Phase(phase) => {
                    active.extend(&phase.transfers.source);
                    active.extend(&phase.transfers.receiver);
                }
                Step::Compute(compute) => active.extend(compute.runs.iter().map(|run| run.tile)),
                _ => {}
            }
        }
        self.program = Some(ProgramFigures {
            price,
            phases: program.phases().count(),
            tiles: program.tiles.len(),
            active_tiles: active.len(),
        });
    }

    /// The price of the program and how it comes about, as text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let program = self.program.as_ref()?;
        Some(format!("{} prices, counted on the exchange program:\n{}", self.prices.name(), program.price))
    }

    /// Says in the event log what the final program costs.
    pub fn log(&self) {
        if let Some(program) = &self.program {
            tracing::info!(
                prices = self.prices.name(),
                final_cycles = program.price.cycles,
                final_exchange_cycles = program.price.exchange,
                "final program costed"
            );
        }
    }

    /// Stable keys for people's tools.
    pub fn record(&self, statistics: &Statistics, object: &mut Map<String, Value>) {
        object.insert("prices".into(), self.prices.name().into());
        if let Some(plan) = statistics.last("select-plans", "plan") {
            object.insert("plan".into(), plan.clone());
        }
        if let Some(program) = &self.program {
            let ProgramFigures { price, phases, tiles, active_tiles } = program;
            object.insert("final_cycles".into(), price.cycles.into());
            object.insert("final_exchange_cycles".into(), price.exchange.into());
            object.insert("moved_bytes".into(), price.moved_bytes.into());
            object.insert("exchange_phases".into(), (*phases).into());
            object.insert("tiles".into(), (*tiles).into());
            object.insert("active_tiles".into(), (*active_tiles).into());
            let parts = serde_json::to_value(&price.parts).unwrap_or_default();
            object.insert("decomposition".into(), parts);
        }
        let figures = [
            ("place-storage", "peak_standard_bytes"),
            ("place-storage", "peak_interleaved_bytes"),
            ("lower-exchanges", "exchange_row_bytes"),
        ];
        for (pass, name) in figures {
            if let Some(value) = statistics.last(pass, name) {
                object.insert(name.into(), value.clone());
            }
        }
    }
}

impl Instrumentation for Figures {
    /// The last exchange program is the one that the pass to `tile` takes.
    fn before_pass(&mut self, _index: usize, entry: &PipelineEntry, module: &Module) {
        let leaves = registry::find(&entry.name).is_some_and(|info| info.provides.contains(&State::Tile));
        if leaves {
            self.observe(module);
        }
    }
}
