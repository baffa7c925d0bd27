//! A file as a case: the inputs that it names, the reference that it is checked against, and the verdict.
//!
//! The entry is `@main`: a `graph.func`, a `mapped.func`, an `exchange.program` or a `tile.program`. The reference is
//! what the file says: `ipu.expected` of the results, else `graph.func @reference`, else `@main` itself where that is a
//! graph. Arguments correspond by position. Nothing here opens a file: data behind `#ipu.npy` comes through
//! [`Resources`]. Lines `// run:` are cases of their own, of any function, with values that the line gives ([`run_lines`]).

mod parts;
pub mod run_lines;

use ipu_device::numerics::{ElementType, Tolerance, Verdict, compare};

use crate::diagnostics::Diagnostic;
use crate::graph;
use crate::graph::meaning::{self, MeaningCode, Precision};
use crate::ipu::ScaledElement;
use crate::ir::{Module, OpId, SymbolTable, Type};
use crate::mapped::{self, ShardedTensor};
use crate::tensor_data::TensorData;

pub use parts::{Part, function_parts};
use parts::{argument_data, part_data, parts_of};

/// Mismatches that a verdict lists.
pub const LISTED_MISMATCHES: usize = 16;

/// Data beside the text.
pub trait Resources {
    /// The contents of the file at `path`, as written in the text.
    ///
    /// # Errors
    /// The text says why there are none.
    fn file(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// No data beside the text.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResources;

impl Resources for NoResources {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("`{path}` cannot be opened here"))
    }
}

/// The level of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `graph.func`
    Graph,
    /// `mapped.func`
    Mapped,
    /// `exchange.program`
    Exchange,
    /// `tile.program`
    Tile,
}

impl Level {
    /// The name of the dialect.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Mapped => "mapped",
            Self::Exchange => "exchange",
            Self::Tile => "tile",
        }
    }

    /// The level whose entry is `op`.
    #[must_use]
    pub fn of(module: &Module, op: OpId) -> Option<Self> {
        match module.name(op).as_str() {
            "graph.func" => Some(Self::Graph),
            "mapped.func" => Some(Self::Mapped),
            "exchange.program" => Some(Self::Exchange),
            "tile.program" => Some(Self::Tile),
            _ => None,
        }
    }
}

/// Whether an argument comes with every call or once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// With every call.
    Input,
    /// Once, before the first call.
    Weight,
}

/// A tensor that enters.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Name: `ipu.name`, else `arg0`, `arg1`, ...
    pub name: String,
    /// How often it enters.
    pub kind: ArgumentKind,
    /// Type, layout included.
    pub ty: Type,
    /// Its elements; SHA-256 by [`TensorData::sha256`].
    pub data: TensorData,
}

/// A tensor that leaves.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// Name: `ipu.name`, else `result0`, `result1`, ...
    pub name: String,
    /// Type, layout included.
    pub ty: Type,
    /// How far it may be from the reference.
    pub tolerance: Tolerance,
    /// `ipu.expected`.
    pub expected: Option<TensorData>,
}

/// A file that can be run and checked.
#[derive(Debug, Clone)]
pub struct Case {
    /// The op `@main`.
    pub entry: OpId,
    /// Its level.
    pub level: Level,
    /// What enters, in order.
    pub arguments: Vec<Argument>,
    /// What leaves, in order.
    pub results: Vec<CaseResult>,
}

/// The outcome for one result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultVerdict {
    /// Name of the result.
    pub name: String,
    /// Comparison in the order of physical storage.
    pub verdict: Verdict,
    /// Logical elements that no shard holds.
    pub uncovered: usize,
}

impl ResultVerdict {
    /// Whether every element is there and within tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.passed() && self.uncovered == 0
    }
}

impl Case {
    /// The case of `@main` of a verified module, with the data of its arguments.
    ///
    /// # Errors
    /// There is no `@main`, or an argument has no data or data that is not of its type.
    pub fn read(module: &Module, resources: &dyn Resources) -> Result<Self, Box<Diagnostic>> {
        let root = module.root();
        let missing =
            |message: &str| Box::new(Diagnostic::error(MeaningCode::Arguments, module.span(root), message));
        let entry = SymbolTable::of(module, root).get("main");
        let entry = entry.ok_or_else(|| missing("the file has no `@main`, so there is nothing to run"))?;
        let (level, inputs, outputs) = parts_of(module, entry)
            .ok_or_else(|| missing("`@main` must be a function of graph or mapped, or a program"))?;
        let fail = |name: &str, message: String| {
            let message = format!("`{name}`: {message}");
            Box::new(Diagnostic::error(MeaningCode::Data, module.span(entry), message))
        };
        let mut arguments = Vec::new();
        for part in inputs {
            let data =
                argument_data(module, &part, resources).map_err(|message| fail(&part.name, message))?;
            arguments.push(part.argument(data));
        }
        let mut results = Vec::new();
        for part in outputs {
            let expected =
                part.attribute("ipu.expected").map(|value| part_data(module, &part, value, resources));
            let expected = expected.transpose().map_err(|message| fail(&part.name, message))?;
            results.push(part.result(expected));
        }
        Ok(Self { entry, level, arguments, results })
    }

    /// The call of `entry` with that data, which must give `expected`; nothing if it is no function or program, or takes or gives
    /// another number of tensors.
    #[must_use]
    pub fn of_call(
        module: &Module,
        entry: OpId,
        data: &[TensorData],
        expected: &[TensorData],
    ) -> Option<Self> {
        let (level, inputs, outputs) = parts_of(module, entry)?;
        if (inputs.len(), outputs.len()) != (data.len(), expected.len()) {
            return None;
        }
        let arguments =
            inputs.into_iter().zip(data).map(|(part, data)| part.argument(data.clone())).collect();
        let results =
            outputs.into_iter().zip(expected).map(|(part, data)| part.result(Some(data.clone()))).collect();
        Some(Self { entry, level, arguments, results })
    }

    /// Whether `@main` is to be run with data of its own: some argument has data, or there is none to give.
    #[must_use]
    pub fn has_data(module: &Module) -> bool {
        let entry = SymbolTable::of(module, module.root()).get("main");
        let Some((_, inputs, _)) = entry.and_then(|entry| parts_of(module, entry)) else { return false };
        inputs.is_empty() || inputs.iter().any(|part| part.attribute("ipu.data").is_some())
    }

    /// The data of the arguments, in order.
    #[must_use]
    pub fn inputs(&self) -> Vec<TensorData> {
        self.arguments.iter().map(|argument| argument.data.clone()).collect()
    }

    /// What the results must be, in order.
    ///
    /// # Errors
    /// The file has no reference, or the reference has no value.
    pub fn reference(&self, module: &Module) -> Result<Vec<TensorData>, Box<Diagnostic>> {
        let expected: Option<Vec<TensorData>> =
            self.results.iter().map(|result| result.expected.clone()).collect();
        if let Some(expected) = expected {
            return Ok(expected);
        }
        let named = SymbolTable::of(module, module.root()).get("reference");
        let named = named.filter(|&op| module.is::<graph::Func>(op));
        let function = named.or((self.level == Level::Graph).then_some(self.entry));
        let Some(function) = function else {
            let message =
                "the file has no `graph.func @reference` and no `ipu.expected`, so nothing to compare with";
            return Err(Box::new(Diagnostic::error(MeaningCode::Data, module.span(self.entry), message)));
        };
        let found = meaning::evaluate(module, function, &self.inputs(), Precision::Reference)?;
        let types = |data: &TensorData| (data.shape.clone(), data.element);
        let wanted = self.results.iter().map(|result| TensorData::type_of(&result.ty).ok());
        if found.iter().map(|data| Some(types(data))).eq(wanted) {
            return Ok(found);
        }
        let message = "the results of the reference are not those of `@main`";
        Err(Box::new(Diagnostic::error(MeaningCode::Arguments, module.span(function), message)))
    }

    /// Executes `@main` by the meaning of its own dialect: reference arithmetic for a graph, storage for mapped.
    ///
    /// # Errors
    /// The meaning faults, or the level has its interpreter elsewhere.
    pub fn run(&self, module: &Module) -> Result<Vec<TensorData>, Box<Diagnostic>> {
        let inputs = self.inputs();
        match self.level {
            Level::Graph => meaning::evaluate(module, self.entry, &inputs, Precision::Reference),
            Level::Mapped => {
                let shards = mapped::meaning::evaluate_storage(module, self.entry, &inputs)?;
                let whole = shards.iter().map(|shards| shards.unpack());
                let at = |error: mapped::MappedError| Box::new(error.at(module.span(self.entry)));
                whole.collect::<Result<_, _>>().map_err(at)
            }
            Level::Exchange | Level::Tile => {
                let message = format!("a program of `{}` is run by its own interpreter", self.level.name());
                Err(Box::new(Diagnostic::error(MeaningCode::NoMeaning, module.span(self.entry), message)))
            }
        }
    }

    /// Compares results with the reference, each in the order of its physical storage.
    #[must_use]
    pub fn verdicts(&self, reference: &[TensorData], actual: &[TensorData]) -> Vec<ResultVerdict> {
        let empty = TensorData { shape: Vec::new(), element: DEFAULT_ELEMENT, bytes: Vec::new() };
        let pairs = (0..self.results.len())
            .map(|index| (reference.get(index).unwrap_or(&empty), actual.get(index).unwrap_or(&empty)));
        self.results
            .iter()
            .zip(pairs)
            .map(|(result, (reference, actual))| result.verdict(reference, actual))
            .collect()
    }
}

/// What is missing compares as no elements.
const DEFAULT_ELEMENT: ScaledElement = ScaledElement { element: ElementType::U8, scale: 0 };

impl CaseResult {
    /// Compares with the reference in the order of physical storage.
    #[must_use]
    pub fn verdict(&self, reference: &TensorData, actual: &TensorData) -> ResultVerdict {
        let order = storage_order(&self.ty);
        let count = reference.element_count() as usize;
        let mut seen = vec![false; count];
        for &index in &order {
            if let Some(seen) = seen.get_mut(index) {
                *seen = true;
            }
        }
        let uncovered = seen.iter().filter(|seen| !**seen).count();
        let verdict =
            compare(&reference.values(), &actual.values(), self.tolerance, order, LISTED_MISMATCHES);
        ResultVerdict { name: self.name.clone(), verdict, uncovered }
    }
}

/// Row-major indices of the elements of a tensor in the order in which its shards hold them: shard by shard, copies but
/// the first left out; without a layout, row-major.
#[must_use]
pub fn storage_order(ty: &Type) -> Vec<usize> {
    let count = ty.as_tensor().and_then(crate::ir::TensorType::element_count).unwrap_or(0) as usize;
    let Ok(tensor) = ShardedTensor::of_type(ty) else { return (0..count).collect() };
    let placement = &tensor.placement;
    let extents: Vec<u32> = placement.shape().collect();
    let mut order = Vec::with_capacity(count);
    for (shard, _) in tensor.shards().filter(|&(shard, _)| placement.shard(shard).replica == 0) {
        let elements = placement.shard_bytes(shard).0 / placement.element_bytes().max(1);
        for element in 0..elements {
            let Some(coordinates) = placement.coordinates(shard, element) else { continue };
            let places = coordinates.iter().zip(&extents);
            order.push(places.fold(0usize, |at, (&place, &extent)| at * extent as usize + place as usize));
        }
    }
    order
}
