//! Bindings with the types that the footer has for them, and what the host does with them.

use ipu_device::Bytes;
use ipu_device::numerics::ElementType;
use ipu_device::package::{self, BindingKind, HostExchange, Package, RegionSlice};
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Attribute, Name, SYMBOL_NAME, Type};
use ipu_dialects::parser::{ParseOptions, parse_attribute, parse_type};
use ipu_dialects::registry::Registry;
use ipu_dialects::tile::{Binding, Slice, TileProgram};

use super::{LiftCode, LiftError};
use crate::build_package::Record;

/// Attributes from their texts, beside those called `own`, which the op has from elsewhere.
pub(super) fn attributes(
    texts: &[(String, String)],
    own: &[&str],
) -> Result<Vec<(Name, Attribute)>, LiftError> {
    let options = ParseOptions::new(Registry::standard());
    let mut read: Vec<(Name, Attribute)> = Vec::new();
    for (name, text) in texts {
        let refuse = |message| Err(LiftError::new(LiftCode::Footer, message));
        if own.contains(&name.as_str()) || read.iter().any(|(known, _)| known.as_str() == name) {
            return refuse(format!("attribute `{name}` is given twice, here as `{text}`"));
        }
        match parse_attribute(text, options) {
            Ok(value) => read.push((Name::intern(name), value)),
            Err(_) => return refuse(format!("`{text}` is no attribute, the value of `{name}`")),
        }
    }
    Ok(read)
}

/// The bindings: those of the footer in its order, then the others.
pub(super) fn bindings(package: &Package, record: &Record) -> Result<Vec<Binding>, LiftError> {
    let place = |name: &str| record.bindings.iter().position(|(known, _)| known == name);
    let mut bindings: Vec<_> = package.bindings().collect();
    bindings.sort_by_key(|(_, binding)| place(&binding.name).unwrap_or(usize::MAX));
    bindings.into_iter().map(|(kind, binding)| lift(kind, binding, record)).collect()
}

fn lift(kind: BindingKind, binding: &package::Binding, record: &Record) -> Result<Binding, LiftError> {
    let slices = binding.slices.iter().map(|one| slice(binding, one)).collect::<Result<_, _>>()?;
    let known = record.binding(&binding.name);
    let own = [SYMBOL_NAME, "kind", "tensor", "slices"];
    let mut lifted = Binding {
        source: None,
        name: binding.name.clone(),
        kind,
        ty: Type::none(),
        attributes: known.map_or(Ok(Vec::new()), |known| attributes(&known.attributes, &own))?,
        slices,
    };
    let written = known.and_then(|known| parse_type(&known.ty, ParseOptions::new(Registry::standard())).ok());
    let shape: Vec<u64> = binding.shape.iter().map(|&length| length.into()).collect();
    let plain = ElementType::ALL.iter().filter_map(|&element| {
        Some(Type::tensor(shape.clone(), ScaledElement { element, scale: 0 }.ty()?, None))
    });
    for ty in written.into_iter().chain(plain) {
        lifted.ty = ty;
        let again = lifted.to_package();
        if (&again.dtype, &again.shape) == (&binding.dtype, &binding.shape) {
            return Ok(lifted);
        }
    }
    // An element type that is not ours; bytes are what can be said of it.
    lifted.ty = if shape.is_empty() { Type::none() } else { Type::tensor(shape, Type::integer(8), None) };
    Ok(lifted)
}

fn slice(binding: &package::Binding, slice: &RegionSlice) -> Result<Slice, LiftError> {
    let narrow = |what: &str, value: u64| {
        u32::try_from(value).map_err(|_| {
            let message =
                format!("`{}` has a slice with {what} {value}, expected at most {}", binding.name, u32::MAX);
            LiftError::new(LiftCode::Inexpressible, message)
        })
    };
    Ok(Slice {
        tile: slice.tile.logical(),
        address: slice.address,
        image_offset: narrow("file offset", slice.file_offset)?,
        bytes: Bytes(narrow("size", slice.size)?),
    })
}

/// Pages and calls, where they are not those that follow from the bindings.
pub(super) fn host(package: &Package, program: &TileProgram) -> Option<HostExchange> {
    let derived = program.host_plan().map(|plan| plan.host_exchange());
    (derived.as_ref() != Ok(&package.host_exchange)).then(|| package.host_exchange.clone())
}

/// The bindings of `program` as a package has them, in the package's order.
pub(super) fn sorted(program: &TileProgram) -> impl Iterator<Item = package::Binding> {
    let kinds = [BindingKind::Input, BindingKind::Output, BindingKind::Weight];
    kinds.into_iter().flat_map(|kind| program.package_bindings(kind))
}
