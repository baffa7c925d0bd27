//! Checks of an op against its declaration, and the segments that accessors read.

use super::format::SEGMENT_SIZES;
use super::{Arity, OpDeclaration, PartDeclaration, PartSpec, Trait};
use crate::codes::VerifyCode;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Attribute, Module, Name, OpId, RegionId, Type, ValueId};

/// Splits `count` values into the parts of `parts`; `sizes` decides where more than one part varies.
pub(crate) fn segments(
    parts: &[PartDeclaration],
    count: usize,
    sizes: Option<&[i64]>,
) -> Option<Vec<std::ops::Range<usize>>> {
    let varying = parts.iter().filter(|part| part.arity != Arity::One).count();
    let fixed = parts.len() - varying;
    let length = |index: usize, part: &PartDeclaration| -> Option<usize> {
        if varying > 1 {
            return usize::try_from(*sizes?.get(index)?).ok();
        }
        if part.arity == Arity::One { Some(1) } else { count.checked_sub(fixed) }
    };
    let mut start = 0usize;
    let mut ranges = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let length = length(index, part)?;
        let fits = match part.arity {
            Arity::One => length == 1,
            Arity::Optional => length <= 1,
            Arity::Variadic => true,
        };
        let end = start.checked_add(length)?;
        if !fits {
            return None;
        }
        ranges.push(start..end);
        start = end;
    }
    (start == count).then_some(ranges)
}

/// Operand segments of a declared op, if their number is right.
pub(crate) fn operand_segments(
    module: &Module,
    op: OpId,
    declaration: &OpDeclaration,
) -> Option<Vec<std::ops::Range<usize>>> {
    let sizes = module.attribute(op, SEGMENT_SIZES).and_then(|sizes| sizes.as_i64_array());
    segments(declaration.operands, module.operands(op).len(), sizes)
}

fn bug(module: &Module, op: OpId, part: &str) -> ! {
    unreachable!("internal bug: accessor `{part}` of a `{}` that did not pass its checks", module.name(op))
}

fn part_access<'m, T: PartSpec>(
    parts: &[PartDeclaration],
    values: &'m [ValueId],
    ranges: Option<Vec<std::ops::Range<usize>>>,
    name: &str,
) -> Option<T::Access<'m>> {
    let index = parts.iter().position(|part| part.name == name)?;
    T::access(values.get(ranges?.get(index)?.clone())?)
}

#[doc(hidden)]
#[must_use]
pub fn operand_access<'m, T: PartSpec>(module: &'m Module, op: OpId, name: &str) -> T::Access<'m> {
    let found = module.declaration(op).and_then(|declaration| {
        let ranges = operand_segments(module, op, declaration);
        part_access::<T>(declaration.operands, module.operands(op), ranges, name)
    });
    found.unwrap_or_else(|| bug(module, op, name))
}

#[doc(hidden)]
#[must_use]
pub fn result_access<'m, T: PartSpec>(module: &'m Module, op: OpId, name: &str) -> T::Access<'m> {
    let found = module.declaration(op).and_then(|declaration| {
        let ranges = segments(declaration.results, module.results(op).len(), None);
        part_access::<T>(declaration.results, module.results(op), ranges, name)
    });
    found.unwrap_or_else(|| bug(module, op, name))
}

#[doc(hidden)]
#[must_use]
pub fn region_access(module: &Module, op: OpId, name: &str) -> RegionId {
    let index = module
        .declaration(op)
        .and_then(|declaration| declaration.regions.iter().position(|region| region.name == name));
    index.and_then(|index| module.regions(op).get(index).copied()).unwrap_or_else(|| bug(module, op, name))
}

/// Checks a declared op against its declaration: numbers and types of operands and results, regions, successors,
/// attributes. An undeclared op passes. Reports what is wrong and says whether the accessors are total; an attribute
/// that the op does not have is reported and does not matter for that.
pub fn check_op(module: &Module, op: OpId, diagnostics: &mut Diagnostics) -> bool {
    let well_formed = check_parts(module, op, diagnostics);
    if let Some(declaration) = module.declaration(op) {
        Checker { module, op, declaration, diagnostics }.unknown_attributes();
    }
    well_formed
}

fn check_parts(module: &Module, op: OpId, diagnostics: &mut Diagnostics) -> bool {
    let Some(declaration) = module.declaration(op) else { return true };
    let before = diagnostics.error_count();
    let mut checker = Checker { module, op, declaration, diagnostics };
    checker.values("operand", declaration.operands, module.operands(op), {
        operand_segments(module, op, declaration)
    });
    checker.values("result", declaration.results, module.results(op), {
        segments(declaration.results, module.results(op).len(), None)
    });
    checker.count("region", declaration.regions.len(), module.regions(op).len());
    checker.count("successor", declaration.successors.len(), module.successors(op).len());
    checker.attributes();
    diagnostics.error_count() == before
}

/// Whether accessors are total on `op`, without reports.
pub(crate) fn is_well_formed(module: &Module, op: OpId) -> bool {
    check_parts(module, op, &mut Diagnostics::new())
}

/// Whether the pretty form says all there is to a well-formed op: the types of results that it does not write must be those that the
/// parser finds for them, a signature must be that of the body, braces hold a block, and hooks say whether they can. The generic form says any op.
pub(crate) fn is_sayable(module: &Module, op: OpId, declaration: &'static OpDeclaration) -> bool {
    let signed = (declaration.compiled)().has_signature;
    let mut regions = declaration.regions.iter().zip(module.regions(op));
    (!signed || signature_is_of_body(module, op))
        && result_types_follow(module, op, declaration)
        && declaration.hooks.iter().filter_map(|hook| hook.says).all(|says| says(module, op))
        && regions.all(|(part, &region)| !part.one_block || !module.blocks_of(region).is_empty())
}

fn result_types_follow(module: &Module, op: OpId, declaration: &'static OpDeclaration) -> bool {
    let written = &(declaration.compiled)().result_types;
    if declaration
        .results
        .iter()
        .zip(written)
        .all(|(part, written)| *written || part.constraint.only.is_some())
    {
        return true;
    }
    let operands: Vec<Type> =
        module.operands(op).iter().map(|&value| module.value_type(value).clone()).collect();
    let results = module.results(op).iter().map(|&value| module.value_type(value));
    if let Some(types) = declaration.infer.and_then(|infer| infer(&operands, module.attributes(op))) {
        return results.eq(&types);
    }
    let first = operands.first().filter(|_| declaration.has_trait(Trait::SameType));
    first.is_some_and(|first| {
        results.len() == declaration.results.len() && results.into_iter().all(|ty| ty == first)
    })
}

/// Whether the inputs of `function_type` are the arguments of the body, and the dictionaries beside them are as many and not all empty.
fn signature_is_of_body(module: &Module, op: OpId) -> bool {
    let ty = module.attribute(op, "function_type").and_then(Attribute::as_type);
    let Some(function) = ty.and_then(|ty| ty.as_function()) else { return false };
    let arguments = module.entry_block(op, 0).map_or(&[][..], |block| module.arguments(block));
    let is_named = module.attribute(op, "sym_name").is_some_and(|name| name.as_str().is_some());
    let dictionaries = |name: &str, count: usize| match module.attribute(op, name) {
        None => true,
        Some(list) => list.as_array().is_some_and(|list| {
            let entries = |entry: &Attribute| entry.as_dictionary().map(<[_]>::len);
            list.len() == count
                && list.iter().all(|entry| entries(entry).is_some())
                && list.iter().any(|entry| entries(entry) != Some(0))
        }),
    };
    is_named
        && arguments.iter().map(|&argument| module.value_type(argument)).eq(&function.inputs)
        && dictionaries("arg_attrs", function.inputs.len())
        && dictionaries("res_attrs", function.results.len())
}

struct Checker<'a> {
    module: &'a Module,
    op: OpId,
    declaration: &'static OpDeclaration,
    diagnostics: &'a mut Diagnostics,
}

impl Checker<'_> {
    fn report(&mut self, code: VerifyCode, message: String) {
        self.diagnostics.push(Diagnostic::error(code, self.module.span(self.op), message));
    }

    fn values(
        &mut self,
        what: &str,
        parts: &[PartDeclaration],
        values: &[ValueId],
        ranges: Option<Vec<std::ops::Range<usize>>>,
    ) {
        let name = self.declaration.name;
        let Some(ranges) = ranges else {
            let wanted = expected_count(parts);
            let message = format!("`{name}` has {} {what}s, expected {wanted}", values.len());
            return self.report(VerifyCode::Count, message);
        };
        for (part, range) in parts.iter().zip(ranges) {
            for &value in values.get(range).unwrap_or(&[]) {
                let ty = self.module.value_type(value);
                if !(part.constraint.accepts)(ty) {
                    let message = format!(
                        "{what} `{}` of `{name}` must be {}, not `{ty}`",
                        part.name, part.constraint.description
                    );
                    self.report(VerifyCode::TypeConstraint, message);
                }
            }
        }
    }

    fn count(&mut self, what: &str, wanted: usize, found: usize) {
        if wanted != found {
            let message = format!("`{}` has {found} {what}s, expected {wanted}", self.declaration.name);
            self.report(VerifyCode::Count, message);
        }
    }

    fn attributes(&mut self) {
        let (module, declaration, op) = (self.module, self.declaration, self.op);
        let name = declaration.name;
        for attribute in declaration.attributes {
            match module.attribute(op, attribute.name) {
                None if attribute.required => {
                    let description = attribute.constraint.description;
                    let message = format!("`{name}` needs attribute `{}`, {description}", attribute.name);
                    self.report(VerifyCode::MissingAttribute, message);
                }
                Some(value) if !(attribute.constraint.accepts)(value) => {
                    let message = format!(
                        "attribute `{}` of `{name}` must be {}, not `{value}`",
                        attribute.name, attribute.constraint.description
                    );
                    self.report(VerifyCode::AttributeConstraint, message);
                }
                _ => {}
            }
        }
    }

    fn unknown_attributes(&mut self) {
        for &(key, _) in self.module.attributes(self.op) {
            self.unknown_attribute(key);
        }
    }

    /// An attribute without a dialect prefix must be declared; others are anybody's.
    fn unknown_attribute(&mut self, key: Name) {
        let declaration = self.declaration;
        let declared = declaration.attributes.iter().map(|attribute| attribute.name);
        let hooks = declaration.hooks.iter().flat_map(|hook| hook.attributes.iter().copied());
        let elided = (declaration.compiled)().elided.iter().copied();
        let mut known = declared.chain(hooks).chain(elided);
        if key.dialect().is_some() || known.any(|name| name == key.as_str()) {
            return;
        }
        let message = format!("`{}` has no attribute `{key}`", declaration.name);
        let mut error = Diagnostic::error(VerifyCode::UnknownAttribute, self.module.span(self.op), message);
        let names = declaration.attributes.iter().map(|attribute| attribute.name);
        error = match self.diagnostics.nearest(key.as_str(), names) {
            Some(near) => error.note(format!("did you mean `{near}`?")),
            None => error.note(format!("an attribute of your own needs a prefix, as in `my.{key}`")),
        };
        self.diagnostics.push(error);
    }
}

fn expected_count(parts: &[PartDeclaration]) -> String {
    let fixed = parts.iter().filter(|part| part.arity == Arity::One).count();
    let optional = parts.iter().filter(|part| part.arity == Arity::Optional).count();
    if parts.iter().any(|part| part.arity == Arity::Variadic) {
        format!("at least {fixed}")
    } else if optional > 0 {
        format!("{fixed} to {}", fixed + optional)
    } else {
        fixed.to_string()
    }
}
