//! Random types, attributes, names and locations.

use std::sync::Arc;

use super::{Choices, NOTATIONS};
use crate::ir::{
    Attribute, AttributeKind, DenseArray, DenseElements, FloatFormat, IntegerValue, Location, LocationKind,
    Name, Opaque, Signedness, SymbolRef, Type, TypeKind,
};
use crate::parser::{ParseOptions, parse_attribute, parse_type};
use crate::registry::Registry;

/// Nesting of types and attributes in one another.
const DEPTH: usize = 4;

/// Names that need quotes, and some that do not.
const NAMES: &[&str] =
    &["a", "main", "x.y", "b c", "0", "", "ü", "a\"b", "line\nbreak", "loc", "-", "$d", "a\\"];

impl Choices<'_> {
    /// A name of a symbol, attribute or file: any text.
    pub(super) fn name(&mut self) -> &'static str {
        self.pick::<&str>(NAMES)
    }

    /// A name of an attribute, which has no empty one.
    pub(super) fn attribute_name(&mut self) -> Name {
        Name::of(Some(self.name()).filter(|name| !name.is_empty()).unwrap_or("my.flag"))
    }

    fn deeper<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    /// A notation whose name starts with `sigil`, as text.
    fn notation(&mut self, sigil: char) -> String {
        let known: Vec<_> = NOTATIONS.iter().filter(|(name, _)| name.starts_with(sigil)).collect();
        let (_, make) = **self.pick(&known);
        make(self)
    }

    /// A type.
    pub(super) fn ty(&mut self, registry: &'static Registry) -> Type {
        let nested = self.depth < DEPTH;
        match self.below(if nested { 12 } else { 8 }) {
            0 | 1 => self.float_type(),
            2 | 3 => self.integer_type(),
            4 => Type::index(),
            5 => Type::none(),
            6 => {
                parse_type(&self.notation('!'), ParseOptions::new(registry)).unwrap_or_else(|_| Type::none())
            }
            7 => Type::new(TypeKind::Opaque(self.opaque())),
            8 | 9 => self.deeper(|choices| choices.tensor(registry)),
            10 => self.deeper(|choices| {
                let inputs = choices.list(3, |choices| choices.ty(registry));
                Type::function(inputs, choices.list(2, |choices| choices.ty(registry)))
            }),
            _ => self.deeper(|choices| {
                Type::new(TypeKind::Tuple(choices.list(3, |choices| choices.ty(registry))))
            }),
        }
    }

    fn float_type(&mut self) -> Type {
        Type::float(*self.pick(&FloatFormat::ALL))
    }

    fn integer_type(&mut self) -> Type {
        let width = *self.pick(&[32, 1, 8, 16, 64, 7, 127, 128, 1000]);
        let signedness = *self.pick(&[Signedness::Signless, Signedness::Signed, Signedness::Unsigned]);
        Type::new(TypeKind::Integer { width, signedness })
    }

    /// A tensor with few elements.
    fn tensor(&mut self, registry: &'static Registry) -> Type {
        let shape = self.list(3, |choices| *choices.pick(&[4, 1, 0, 2, 3]));
        let element = match self.below(3) {
            0 => self.float_type(),
            1 => self.integer_type(),
            _ => {
                parse_type(&self.notation('!'), ParseOptions::new(registry)).unwrap_or_else(|_| Type::index())
            }
        };
        let element = if element.element_bits().is_some() { element } else { Type::index() };
        let encoding = self.one_in(3).then(|| self.deeper(|choices| choices.attribute(registry)));
        Type::tensor(shape, element, encoding)
    }

    fn opaque(&mut self) -> Opaque {
        let name = *self.pick(&["acme.widget", "acme.x_1", "other.t"]);
        let body = *self.pick(&["", "<>", "<4x8, [1, {a}]>", "<\"q > \\22\", (a)>"]);
        Opaque { name: name.into(), body: body.into() }
    }

    /// An attribute.
    pub(super) fn attribute(&mut self, registry: &'static Registry) -> Attribute {
        let nested = self.depth < DEPTH;
        match self.below(if nested { 17 } else { 13 }) {
            0 => Attribute::unit(),
            1 => Attribute::bool(self.one_in(2)),
            2 | 3 => self.integer(),
            4 => self.float(),
            5 => {
                let bytes = self.list(8, |choices| *choices.pick(b"a\"\\\n\t\0\x7f\x80\xff\xc3\xbc {}>"));
                Attribute::string(bytes)
            }
            6 => Attribute::new(AttributeKind::Symbol(self.symbol())),
            7 => self.dense_array(),
            8 => self.dense(registry),
            9 => {
                let ty = self.one_in(2).then(|| Type::tensor([2], Type::integer(8), None));
                Attribute::new(AttributeKind::DenseResource { name: "blob".into(), ty })
            }
            10 => Attribute::new(AttributeKind::Location(self.location())),
            11 => {
                let text = self.notation('#');
                parse_attribute(&text, ParseOptions::new(registry)).unwrap_or_else(|_| Attribute::unit())
            }
            12 => Attribute::new(AttributeKind::Opaque(Box::new(self.opaque()))),
            13 => self.deeper(|choices| Attribute::ty(choices.ty(registry))),
            14 | 15 => self
                .deeper(|choices| Attribute::array(choices.list(4, |choices| choices.attribute(registry)))),
            _ => self.deeper(|choices| Attribute::dictionary(choices.dictionary(registry))),
        }
    }

    /// Entries with names that differ.
    pub(super) fn dictionary(&mut self, registry: &'static Registry) -> Vec<(Name, Attribute)> {
        let mut entries = self.list(3, |choices| (choices.attribute_name(), choices.attribute(registry)));
        entries.sort_by_key(|(name, _)| *name);
        entries.dedup_by_key(|(name, _)| *name);
        entries
    }

    fn integer(&mut self) -> Attribute {
        let ty = if self.one_in(8) { Type::index() } else { self.integer_type() };
        let any = i128::from(self.bits()) | i128::from(self.bits()) << 64;
        let value = match (ty.as_integer(), self.below(4)) {
            (_, 0) => 0,
            (None, _) => any >> 64,
            (Some((width, Signedness::Unsigned)), _) if width >= 128 => any & i128::MAX,
            (Some((width, _)), _) if width >= 128 => any,
            (Some((width, Signedness::Unsigned)), _) => any & (i128::MAX >> (127 - width)),
            (Some((width, _)), _) => any << (128 - width) >> (128 - width),
        };
        Attribute::new(AttributeKind::Integer(IntegerValue::new(value, ty, self.one_in(3))))
    }

    fn float(&mut self) -> Attribute {
        let format = *self.pick(&FloatFormat::ALL);
        let bits = match self.below(4) {
            0 => format.encode(*self.pick(&[
                0.0,
                -0.0,
                1.5,
                1e30,
                1e-40,
                f64::MAX,
                f64::INFINITY,
                0.1,
                123_456.75,
            ])),
            _ => self.bits() & (u64::MAX >> (64 - format.bits())),
        };
        Attribute::float_bits(bits, format)
    }

    fn symbol(&mut self) -> SymbolRef {
        let root = self.name();
        let rest = self.list(2, |choices| Arc::from(choices.name()));
        SymbolRef::nested(root, rest)
    }

    fn dense_array(&mut self) -> Attribute {
        let element = match self.below(2) {
            0 => Type::integer(*self.pick(&[64, 1, 8, 16, 32])),
            _ => self.float_type(),
        };
        let bits = element.element_bits().unwrap_or(64);
        let values = self.list(5, |choices| {
            let any = choices.bits() as i64;
            match (bits, element.as_float()) {
                (1, _) => any & 1,
                (64, _) => any,
                (_, Some(_)) => any & ((1 << bits) - 1),
                _ => any << (64 - bits) >> (64 - bits),
            }
        });
        Attribute::new(AttributeKind::DenseArray(DenseArray { element, values: values.into() }))
    }

    fn dense(&mut self, registry: &'static Registry) -> Attribute {
        let ty = loop {
            let ty = self.deeper(|choices| choices.tensor(registry));
            let bits = ty.as_tensor().and_then(|tensor| tensor.element.element_bits());
            if matches!(bits, Some(1 | 8 | 16 | 32 | 64)) {
                break ty;
            }
            if self.depth > 2 * DEPTH || self.one_in(4) {
                break Type::tensor([2], Type::integer(32), None);
            }
        };
        let tensor = ty.as_tensor().map(|tensor| (tensor.element_count(), tensor.element.element_bits()));
        let Some((Some(count), Some(bits))) = tensor else { return Attribute::unit() };
        let splat = count > 0 && self.one_in(2);
        let elements = if splat { 1 } else { count as usize };
        let width = bits.div_ceil(8) as usize;
        let data = (0..elements * width)
            .map(|_| if bits == 1 { self.below(2) as u8 } else { self.bits() as u8 })
            .collect();
        Attribute::new(AttributeKind::DenseElements(Box::new(DenseElements { ty, data, splat })))
    }

    /// A location.
    pub(super) fn location(&mut self) -> Location {
        match self.below(if self.depth < DEPTH { 5 } else { 2 }) {
            0 => Location::file("a.ir".into(), self.below(1000) as u32, self.below(100) as u32),
            1 => Location::unknown(),
            2 => self.deeper(|choices| {
                let child = choices.one_in(2).then(|| choices.location());
                Location::new(LocationKind::Name { name: choices.name().into(), child })
            }),
            3 => self.deeper(|choices| {
                let metadata = choices.one_in(2).then(|| Attribute::string("why"));
                let mut locations = choices.list(3, Self::location);
                locations.push(choices.location());
                Location::new(LocationKind::Fused { metadata, locations })
            }),
            _ => self.deeper(|choices| {
                let (callee, caller) = (choices.location(), choices.location());
                Location::new(LocationKind::CallSite { callee, caller })
            }),
        }
    }
}
