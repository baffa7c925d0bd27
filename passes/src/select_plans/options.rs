//! Options of the search, and the text form of a pinned plan: `grid=8x4x2,cast=home`.

use std::fmt;
use std::str::FromStr;

use ipu_device::memory_map::MemoryClass;
use ipu_device::topology::TILE_COUNT;
use serde::{Deserialize, Serialize};

use super::error::{PlanCode, PlanError};
use super::plan::{CastPlace, Grid, Ownership, Packing};

/// Which price list the search minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prices {
    /// Kernel formulas fitted to hardware; a phase costs its bound and the measured overhead.
    #[default]
    Calibrated,
    /// The counting rule of the recorded run: 600 cycles a phase, all operand bytes at 4 a cycle, ideal kernels.
    Recorded,
}

impl Prices {
    /// The name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Calibrated => "calibrated",
            Self::Recorded => "recorded",
        }
    }
}

/// Where a pinned plan puts a host input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinnedHome {
    /// Equal shares of rows over all tiles of the grid, as in the recorded run.
    Rows,
    /// The search chooses.
    Any,
}

/// Choices that the search must keep. What a pin leaves out is canonical: row homes, a cast of the block after it
/// was gathered, results scattered by rows over the inner partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pin {
    /// The grid.
    pub grid: Grid,
    /// Home of the left operand, where it is a host input.
    pub home: PinnedHome,
    /// Where operands are cast; `None` leaves it to the search.
    pub cast: Option<CastPlace>,
    /// Panels before the cast; `None` leaves it to the search.
    pub packing: Option<Packing>,
    /// Who owns the result of a split inner axis; `None` leaves it to the search.
    pub ownership: Option<Ownership>,
    /// Memory of the right operand; `None` leaves it to the search.
    pub weights: Option<MemoryClass>,
}

impl FromStr for Pin {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut pin = Self {
            grid: Grid { m: 0, n: 0, k: 0 },
            home: PinnedHome::Rows,
            cast: Some(CastPlace::Block),
            packing: Some(Packing::Declared),
            ownership: Some(Ownership::ScatterRows),
            weights: None,
        };
        for item in text.split(',') {
            let (key, value) = item.split_once('=').ok_or_else(|| {
                bad_pin(format!("`{item}` is no `key=value`; expected for example `grid=8x4x2,cast=home`"))
            })?;
            pin.set(key.trim(), value.trim())?;
        }
        if pin.grid.tiles() == 0 {
            return Err(bad_pin("a pin names a grid: `grid=MxNxK`".into()));
        }
        Ok(pin)
    }
}

fn bad_pin(message: String) -> PlanError {
    PlanError::new(PlanCode::BadPin, message)
}

/// The choice that `value` names: `Some(None)` for `any`, `None` for an unknown name.
fn choice<T>(value: &str, named: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if value == "any" { Some(None) } else { named(value).map(Some) }
}

impl Pin {
    fn set(&mut self, key: &str, value: &str) -> Result<(), PlanError> {
        let unknown = |known: &str| bad_pin(format!("`{key}` cannot be `{value}`, expected {known}"));
        match key {
            "grid" => self.grid = value.parse()?,
            "home" => {
                self.home = match value {
                    "rows" => PinnedHome::Rows,
                    "any" => PinnedHome::Any,
                    _ => return Err(unknown("`rows` or `any`")),
                }
            }
            "cast" => {
                let places = [CastPlace::Home, CastPlace::Block];
                let named = |value: &str| places.into_iter().find(|place| place.name() == value);
                self.cast = choice(value, named).ok_or_else(|| unknown("`home`, `block` or `any`"))?;
            }
            "panels" => {
                let packings = [Packing::Declared, Packing::Multiply];
                let named = |value: &str| packings.into_iter().find(|packing| packing.name() == value);
                self.packing =
                    choice(value, named).ok_or_else(|| unknown("`declared`, `multiply` or `any`"))?;
            }
            "result" => {
                self.ownership = choice(value, Ownership::from_name)
                    .ok_or_else(|| unknown("`scatter_rows`, `scatter_columns`, `collapse` or `any`"))?;
            }
            "weights" => {
                self.weights = choice(value, MemoryClass::from_name)
                    .ok_or_else(|| unknown("`standard`, `interleaved` or `any`"))?;
            }
            _ => {
                return Err(bad_pin(format!(
                    "unknown key `{key}`, expected `grid`, `home`, `cast`, `panels`, `result` or `weights`"
                )));
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Pin {
    type Error = PlanError;

    fn try_from(text: String) -> Result<Self, PlanError> {
        text.parse()
    }
}

impl From<Pin> for String {
    fn from(pin: Pin) -> Self {
        pin.to_string()
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let home = if self.home == PinnedHome::Rows { "rows" } else { "any" };
        let cast = self.cast.map_or("any", CastPlace::name);
        let packing = self.packing.map_or("any", Packing::name);
        let ownership = self.ownership.map_or("any", Ownership::name);
        let weights = self.weights.map_or("any", MemoryClass::name);
        write!(
            f,
            "grid={},home={home},cast={cast},panels={packing},result={ownership},weights={weights}",
            self.grid
        )
    }
}

/// Options of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanOptions {
    /// Tiles that the plan may use: `0..tiles`.
    pub tiles: u16,
    /// Price list.
    pub prices: Prices,
    /// Plans kept.
    pub finalists: u32,
    /// Choices that must be kept.
    pub pin: Option<Pin>,
    /// Lets the host write a copy of an input to every tile that needs it. No comparison uses it.
    pub replicate_inputs: bool,
    /// How much dearer than the cheapest plan, in percent, a finalist may be.
    pub slack_percent: u32,
    /// Bytes of standard memory that data may take on a tile.
    pub standard_bytes: u32,
    /// Bytes of interleaved memory that data may take on a tile.
    pub interleaved_bytes: u32,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            tiles: TILE_COUNT,
            prices: Prices::default(),
            finalists: 4,
            pin: None,
            replicate_inputs: false,
            slack_percent: 25,
            standard_bytes: STANDARD_BUDGET,
            interleaved_bytes: INTERLEAVED_BUDGET,
        }
    }
}

/// Standard memory left for data: from the end of a usual linked image and its code (three 16-KiB elements from
/// the code base on) to the interleaved region.
const STANDARD_BUDGET: u32 = 0x8_0000 - 0x6_8000;
/// Interleaved memory that the loader reaches.
const INTERLEAVED_BUDGET: u32 = 0xe_7bb0 - 0x8_0000;

impl PlanOptions {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// [`PlanCode::BadOption`] or [`PlanCode::BadPin`].
    pub fn check(&self) -> Result<(), PlanError> {
        if self.tiles == 0 || self.tiles > TILE_COUNT {
            let message = format!("`tiles` is {}, expected 1 to {TILE_COUNT}", self.tiles);
            return Err(PlanError::new(PlanCode::BadOption, message));
        }
        if self.finalists == 0 || self.finalists > 1024 {
            let message = format!("`finalists` is {}, expected 1 to 1024", self.finalists);
            return Err(PlanError::new(PlanCode::BadOption, message));
        }
        if let Some(pin) = self.pin
            && pin.grid.tiles() > u64::from(self.tiles)
        {
            let message =
                format!("grid {} needs {} tiles, {} are given", pin.grid, pin.grid.tiles(), self.tiles);
            return Err(PlanError::new(PlanCode::BadPin, message));
        }
        Ok(())
    }
}
