//! Types and attributes.

use smallvec::SmallVec;

use super::Printer;
use super::text::is_bare_word;
use crate::ir::{
    AliasValue, Attribute, AttributeKind, DenseArray, DenseElements, FloatFormat, FunctionType, IntegerValue,
    Name, Opaque, Signedness, SymbolRef, TensorType, Type, TypeKind,
};

/// Longest list of elements that `dense` writes as numbers; longer ones are a hexadecimal string.
const DENSE_LIST_ELEMENTS: usize = 64;

/// Most types whose text is remembered.
const TYPE_TEXTS: usize = 1 << 12;

impl Printer<'_> {
    pub(super) fn collect_aliases(&mut self) {
        let Some(module) = self.module else { return };
        for (index, alias) in module.aliases.iter().enumerate() {
            match &alias.value {
                AliasValue::Attribute(attribute) => {
                    self.attribute_aliases.entry(attribute.node_address()).or_insert(index);
                    self.attribute_alias_values.entry(attribute.clone()).or_insert(index);
                }
                AliasValue::Type(ty) => {
                    self.type_aliases.entry(ty.node_address()).or_insert(index);
                    self.type_alias_values.entry(ty.clone()).or_insert(index);
                }
            }
        }
    }

    fn alias_name(&self, index: Option<usize>) -> Option<&str> {
        self.module?.aliases.get(index?).map(|alias| &*alias.name)
    }

    /// A type, by its alias where it has one.
    pub fn ty(&mut self, ty: &Type) {
        let address = ty.node_address();
        if let Some((_, text)) = self.type_texts.get(&address) {
            self.out.push_str(text);
            self.glue = false;
            return;
        }
        let start = self.out.len();
        let index = self.type_aliases.get(&address).or_else(|| self.type_alias_values.get(ty)).copied();
        match self.alias_name(index).map(|name| format!("!{name}")) {
            Some(text) => self.text(&text),
            None => self.type_in_full(ty),
        }
        if self.module.is_some() && self.type_texts.len() < TYPE_TEXTS {
            let text = self.out.get(start..).unwrap_or("").into();
            self.type_texts.insert(address, (ty.clone(), text));
        }
    }

    /// A comma list of types.
    pub fn types<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>) {
        self.list(types, ", ", Self::ty);
    }

    pub(super) fn type_in_full(&mut self, ty: &Type) {
        match ty.kind() {
            TypeKind::Integer { width, signedness } => {
                let prefix = match signedness {
                    Signedness::Signless => "i",
                    Signedness::Signed => "si",
                    Signedness::Unsigned => "ui",
                };
                self.display(format_args!("{prefix}{width}"));
            }
            TypeKind::Index => self.text("index"),
            TypeKind::Float(format) => self.text(format.name()),
            TypeKind::None => self.text("none"),
            TypeKind::Tensor(tensor) => self.tensor(tensor),
            TypeKind::Function(FunctionType { inputs, results }) => self.function_type(inputs, results),
            TypeKind::Tuple(parts) => {
                self.text("tuple<");
                self.types(parts);
                self.text(">");
            }
            TypeKind::Dialect(value) => {
                self.display(format_args!("!{}", value.name()));
                value.print_body(self);
            }
            TypeKind::Opaque(Opaque { name, body }) => self.display(format_args!("!{name}{body}")),
        }
    }

    fn tensor(&mut self, tensor: &TensorType) {
        self.text("tensor<");
        for length in &tensor.shape {
            self.number(*length);
            self.text("x");
        }
        self.ty(&tensor.element);
        if let Some(encoding) = &tensor.encoding {
            self.text(", ");
            self.attribute(encoding);
        }
        self.text(">");
    }

    /// `(inputs) -> results`
    pub fn function_type<'t>(
        &mut self,
        inputs: impl IntoIterator<Item = &'t Type>,
        results: impl IntoIterator<Item = &'t Type>,
    ) {
        self.text("(");
        self.types(inputs);
        self.text(") -> ");
        let mut results = results.into_iter();
        match (results.next(), results.next()) {
            (Some(only), None) if only.as_function().is_none() => self.ty(only),
            (first, second) => {
                self.text("(");
                self.types(first.into_iter().chain(second).chain(results));
                self.text(")");
            }
        }
    }

    /// An attribute, by its alias where it has one.
    pub fn attribute(&mut self, attribute: &Attribute) {
        if self.attribute_aliases.is_empty() {
            return self.attribute_in_full(attribute);
        }
        let index = self.attribute_aliases.get(&attribute.node_address());
        let index = index.or_else(|| self.attribute_alias_values.get(attribute)).copied();
        match self.alias_name(index).map(|name| format!("#{name}")) {
            Some(text) => self.text(&text),
            None => self.attribute_in_full(attribute),
        }
    }

    pub(super) fn attribute_in_full(&mut self, attribute: &Attribute) {
        match attribute.kind() {
            AttributeKind::Unit => self.text("unit"),
            AttributeKind::Bool(value) => self.display(value),
            AttributeKind::Integer(integer) => self.integer(integer),
            AttributeKind::Float { bits, format } => self.float(*bits, *format),
            AttributeKind::String(bytes) => self.string(bytes),
            AttributeKind::Type(ty) => self.ty(ty),
            AttributeKind::Array(elements) => {
                self.text("[");
                self.list(elements, ", ", Self::attribute);
                self.text("]");
            }
            AttributeKind::Dictionary(entries) => self.dictionary(entries.iter()),
            AttributeKind::Symbol(path) => self.symbol_ref(path),
            AttributeKind::DenseArray(array) => self.dense_array(array),
            AttributeKind::DenseElements(elements) => self.dense_elements(elements),
            AttributeKind::DenseResource { name, ty } => {
                self.text("dense_resource<");
                self.name(name);
                self.text(">");
                if let Some(ty) = ty {
                    self.text(" : ");
                    self.ty(ty);
                }
            }
            AttributeKind::Location(location) => {
                self.text("loc(");
                self.location_body(location);
                self.text(")");
            }
            AttributeKind::Dialect(value) => {
                self.display(format_args!("#{}", value.name()));
                value.print_body(self);
            }
            AttributeKind::Opaque(opaque) => self.display(format_args!("#{}{}", opaque.name, opaque.body)),
        }
    }

    /// `@a::@b`
    pub fn symbol_ref(&mut self, path: &SymbolRef) {
        self.list(path.path(), "::", |printer, name| printer.symbol_name(name));
    }

    /// A name of an attribute or resource, quoted where it needs to be.
    pub(super) fn name(&mut self, name: &str) {
        if is_bare_word(name) { self.text(name) } else { self.string(name.as_bytes()) }
    }

    /// `{name = value, ...}`
    pub fn dictionary<'a>(&mut self, entries: impl IntoIterator<Item = &'a (Name, Attribute)>) {
        let mut entries: SmallVec<[_; 8]> = entries.into_iter().collect();
        if self.options.generic {
            entries.sort_by_key(|(name, _)| *name);
        }
        self.text("{");
        self.list(entries, ", ", |printer, (name, value)| {
            printer.name(name.as_str());
            if !matches!(value.kind(), AttributeKind::Unit) {
                printer.text(" = ");
                printer.attribute(value);
            }
        });
        self.text("}");
    }

    /// An integer without its type, in its base.
    pub fn integer_digits(&mut self, integer: &IntegerValue) {
        let (value, hexadecimal) = (integer.value(), integer.hexadecimal && !self.options.generic);
        let bits = integer.ty.as_integer().filter(|(_, signedness)| *signedness == Signedness::Unsigned);
        if bits.is_some() && value < 0 {
            // 128 bits without sign.
            return match hexadecimal {
                true => self.display(format_args!("0x{value:x}")),
                false => self.number(value as u128),
            };
        }
        match (hexadecimal, value < 0) {
            (false, _) => self.number(value),
            (true, false) => self.display(format_args!("0x{value:x}")),
            (true, true) => self.display(format_args!("-0x{:x}", value.unsigned_abs())),
        }
    }

    /// An integer of type `i64` as syntax has it that takes no alias.
    pub fn plain_integer(&mut self, attribute: &Attribute) {
        match attribute.kind() {
            AttributeKind::Integer(integer) => self.integer_digits(integer),
            _ => self.attribute(attribute),
        }
    }

    /// In generic form as MLIR prints it: a signless integer as if it had a sign, one of a single bit as a truth value.
    fn integer(&mut self, integer: &IntegerValue) {
        match integer.ty.as_integer() {
            Some((1, Signedness::Signless)) if self.options.generic => {
                return self.display(integer.value() != 0);
            }
            Some((width @ 2..=127, Signedness::Signless)) if self.options.generic => {
                self.number(integer.value() << (128 - width) >> (128 - width));
            }
            _ => self.integer_digits(integer),
        }
        if integer.ty.as_integer() != Some((64, Signedness::Signless)) {
            self.text(" : ");
            self.ty(&integer.ty);
        }
    }

    fn float(&mut self, bits: u64, format: FloatFormat) {
        let text = float_digits(bits, format);
        self.text(&text);
        if format != FloatFormat::F64 || text.starts_with("0x") {
            self.display(format_args!(" : {}", format.name()));
        }
    }

    fn dense_array(&mut self, array: &DenseArray) {
        self.text("array<");
        self.ty(&array.element);
        if !array.values.is_empty() {
            self.text(": ");
        }
        self.list(&array.values, ", ", |printer, value| printer.element(*value, &array.element));
        self.text(">");
    }

    /// One element, given by its code.
    fn element(&mut self, code: i64, ty: &Type) {
        match ty.kind() {
            TypeKind::Float(format) => self.text(&float_digits(code as u64, *format)),
            TypeKind::Integer { width: 1, .. } => self.display(code != 0),
            TypeKind::Integer { signedness: Signedness::Unsigned, .. } => self.number(code as u64),
            TypeKind::Dialect(_) => self.display(format_args!("0x{code:x}")),
            _ => self.number(code),
        }
    }

    fn dense_elements(&mut self, elements: &DenseElements) {
        let DenseElements { ty, data, splat } = elements;
        self.text("dense<");
        if let Some(tensor) = ty.as_tensor() {
            let width = tensor.element.element_bits().unwrap_or(8).div_ceil(8).max(1) as usize;
            let count = data.len() / width;
            if *splat {
                self.element(code_of(data, &tensor.element), &tensor.element);
            } else if count > DENSE_LIST_ELEMENTS {
                self.hexadecimal_string(data);
            } else if count > 0 {
                self.dense_list(tensor, data, width);
            }
        }
        self.text("> : ");
        self.ty(ty);
    }

    fn hexadecimal_string(&mut self, data: &[u8]) {
        use std::fmt::Write as _;
        self.text("\"0x");
        for byte in data {
            let _ = write!(self.out, "{byte:02X}");
        }
        self.text("\"");
    }

    /// Nested lists: a bracket opens or closes wherever an axis starts or ends.
    fn dense_list(&mut self, tensor: &TensorType, data: &[u8], width: usize) {
        let mut strides: Vec<u64> = Vec::new();
        let mut stride = 1u64;
        for &length in tensor.shape.iter().rev() {
            stride = stride.saturating_mul(length).max(1);
            strides.push(stride);
        }
        for (index, bytes) in data.chunks(width).enumerate() {
            let opened = strides.iter().filter(|&&stride| (index as u64).is_multiple_of(stride)).count();
            if index > 0 {
                self.text(", ");
            }
            self.text(&"[".repeat(opened));
            self.element(code_of(bytes, &tensor.element), &tensor.element);
            let closed = strides.iter().filter(|&&stride| (index as u64 + 1).is_multiple_of(stride)).count();
            self.text(&"]".repeat(closed));
        }
    }

    pub(super) fn resource_section(&mut self) {
        let Some(module) = self.module else { return };
        if module.resources.is_empty() {
            return;
        }
        self.text("\n{-#\n  dialect_resources: {\n    builtin: {\n");
        for (index, (name, resource)) in module.resources.iter().enumerate() {
            self.text(if index > 0 { ",\n      " } else { "      " });
            self.name(name);
            self.text(": ");
            let mut bytes = resource.alignment.to_le_bytes().to_vec();
            bytes.extend_from_slice(&resource.data);
            self.hexadecimal_string(&bytes);
        }
        self.text("\n    }\n  }\n#-}\n");
    }
}

/// The code of an element from its little-endian bytes, sign-extended where the type has a sign.
fn code_of(bytes: &[u8], ty: &Type) -> i64 {
    let mut buffer = [0u8; 8];
    let length = bytes.len().min(8);
    buffer[..length].copy_from_slice(&bytes[..length]);
    let code = i64::from_le_bytes(buffer);
    let signed = matches!(ty.as_integer(), Some((2.., Signedness::Signless | Signedness::Signed)));
    let unused = 64 - 8 * length as u32;
    if signed && unused < 64 { code << unused >> unused } else { code }
}

/// A float in decimal that reads back to the same code, or its code in base 16.
fn float_digits(bits: u64, format: FloatFormat) -> String {
    let value = format.decode(bits);
    if !value.is_finite() {
        return format!("0x{bits:0width$X}", width = format.bits() as usize / 4);
    }
    let short = match format {
        FloatFormat::F64 => format!("{value:?}"),
        _ => format!("{:?}", value as f32),
    };
    match short.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => short,
    }
}
