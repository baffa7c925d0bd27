//! Which tensor each buffer holds, and where it is once placed: the way from a byte to an element and an address.

use ipu_device::hash::HashMap;
use ipu_device::numerics::decode_elements;
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::case::{Level, function_parts};
use ipu_dialects::exchange::program::{Buffer, Program, Step};
use ipu_dialects::mapped::ShardedTensor;
use ipu_dialects::tensor_data::TensorData;
use ipu_passes::manager::state::main_program;

use super::report::{ElementAt, Number, PlaceAt};
use crate::stages::{Stages, bits, element};

/// Buffers by name, from all stages.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tensors: HashMap<String, ShardedTensor>,
    placed: HashMap<String, Buffer>,
    /// The buffer of each result, by the result's name.
    results: HashMap<String, String>,
}

/// An element of a tensor in a buffer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ElementPlace {
    /// Its index.
    pub(crate) index: Vec<u32>,
    /// First byte in the buffer.
    pub(crate) offset: u32,
    /// Bytes.
    pub(crate) bytes: u32,
}

impl Places {
    /// What the stages say.
    pub(crate) fn of(stages: &Stages) -> Self {
        let mut places = Self::default();
        for stage in &stages.list {
            match stage.execution().map(|execution| execution.level) {
                Some(Level::Mapped) => places.mapped(&stage.module),
                Some(Level::Exchange) => {
                    let program =
                        main_program(&stage.module).and_then(|op| Program::read(&stage.module, op).ok());
                    program.into_iter().for_each(|program| places.exchange(&program));
                }
                _ => {}
            }
        }
        places
    }

    fn mapped(&mut self, module: &ipu_dialects::ir::Module) {
        let Some(function) = main_program(module) else { return };
        let Some(block) = module.entry_block(function, 0) else { return };
        let (inputs, _) = function_parts(module, function);
        for (part, &value) in inputs.iter().zip(module.arguments(block)) {
            if let Ok(tensor) = ShardedTensor::of(module, value) {
                self.tensors.insert(part.name.clone(), tensor);
            }
        }
        for op in module.ops_of(block) {
            for &value in module.results(op) {
                if let (Some(name), Ok(tensor)) = (module.value_name(value), ShardedTensor::of(module, value))
                {
                    self.tensors.insert(name.to_owned(), tensor);
                }
            }
        }
    }

    fn exchange(&mut self, program: &Program) {
        for step in &program.steps {
            let (Step::LoadHost(moves) | Step::StoreHost(moves)) = step else { continue };
            let Some(binding) = program.bindings.get(moves.binding) else { continue };
            let Some(part) = moves.parts.first() else { continue };
            let buffer = &program.buffer(part.slice.buffer).name;
            if let (Ok(tensor), false) =
                (ShardedTensor::of_type(&binding.ty), self.tensors.contains_key(buffer))
            {
                self.tensors.insert(buffer.clone(), tensor);
            }
            if matches!(step, Step::StoreHost(_)) {
                self.results.insert(binding.name.clone(), buffer.clone());
            }
        }
        if program.is_placed() {
            self.placed =
                program.buffers.iter().map(|buffer| (buffer.name.clone(), buffer.clone())).collect();
        }
    }

    /// The element that byte `offset` of `buffer` on `tile` belongs to; nothing for padding and scratch.
    pub(crate) fn element(&self, buffer: &str, tile: LogicalTile, offset: u32) -> Option<ElementPlace> {
        let placement = &self.tensors.get(buffer)?.placement;
        let bytes = placement.element_bytes().max(1);
        let element = offset / bytes;
        let index = placement.coordinates(placement.shard_on(tile)?, element)?;
        Some(ElementPlace { index: index.to_vec(), offset: element * bytes, bytes })
    }

    /// The address of byte `offset` of `buffer` on `tile`.
    pub(crate) fn address(&self, buffer: &str, tile: LogicalTile, offset: u32) -> Option<Address> {
        self.placed.get(buffer)?.address(tile)?.checked_add(Bytes(offset))
    }

    /// Byte `offset` of `buffer` on `tile`, with its address.
    pub(crate) fn place(&self, buffer: &str, tile: LogicalTile, offset: u32) -> PlaceAt {
        PlaceAt::on(tile, Some((buffer, offset)), self.address(buffer, tile, offset))
    }

    /// Where the element `index` of the result `name` is.
    pub(crate) fn result(&self, name: &str, index: &[u32]) -> Option<PlaceAt> {
        let buffer = self.results.get(name)?;
        let placement = &self.tensors.get(buffer)?.placement;
        let (shard, element) = placement.locate(index)?;
        let tile = *placement.tiles().get(shard as usize)?;
        Some(self.place(buffer, tile, element * placement.element_bytes()))
    }

    /// The number in the bytes of an element of `buffer`.
    pub(crate) fn number(&self, buffer: &str, bytes: &[u8]) -> Option<Number> {
        let element = self.tensors.get(buffer)?.element;
        let value = *decode_elements(element.element, element.scale, bytes).ok()?.first()?;
        Some(Number { bits: bits(bytes), digits: 2 * bytes.len(), value })
    }
}

/// Element number `at`, in row-major order, of a tensor.
pub(crate) fn number_of(data: &TensorData, at: usize) -> Option<Number> {
    let bytes = element(data, at)?;
    let value = *decode_elements(data.element.element, data.element.scale, bytes).ok()?.first()?;
    Some(Number { bits: bits(bytes), digits: 2 * bytes.len(), value })
}

/// The index of element number `at`, in row-major order, of a tensor of that shape.
pub(crate) fn index_of(shape: &[u64], at: usize) -> Vec<u32> {
    let mut rest = at as u64;
    let mut index: Vec<u32> = Vec::with_capacity(shape.len());
    for &extent in shape.iter().rev() {
        index.push((rest % extent.max(1)) as u32);
        rest /= extent.max(1);
    }
    index.reverse();
    index
}

/// An index as messages show it: `(0, 16)`.
pub(crate) fn index_text(index: &[u32]) -> String {
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("({})", index.join(", "))
}

/// The first element of `actual` that is not the same bits as in `expected`.
pub(crate) fn first_difference(name: &str, expected: &TensorData, actual: &TensorData) -> Option<ElementAt> {
    let count = expected.element_count() as usize;
    let pair = |at: usize| (number_of(expected, at), number_of(actual, at));
    let differs = |at: &usize| {
        let (expected, actual) = pair(*at);
        expected.map(|number| number.bits) != actual.map(|number| number.bits)
    };
    let at = (0..count).find(differs)?;
    let (expected_number, actual) = pair(at);
    Some(ElementAt {
        tensor: format!("`{name}`"),
        index: index_of(&expected.shape, at),
        expected: expected_number?,
        actual,
        wrong: Some((at..count).filter(differs).count() as u64),
    })
}
