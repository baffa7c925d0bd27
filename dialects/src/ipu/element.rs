//! Element types of tensors as the device names them.

use ipu_device::numerics::ElementType;

use super::{F143, F152};
use crate::ir::{FloatFormat, Signedness, Type};

/// An element type with the scale exponent that FP8 tensors carry, else 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScaledElement {
    /// The stored type.
    pub element: ElementType,
    /// Exponent of the power-of-two scale.
    pub scale: i32,
}

impl ScaledElement {
    /// The device's name for `ty`; `None` for types that the device does not store.
    #[must_use]
    pub fn of(ty: &Type) -> Option<Self> {
        let unscaled = |element| Some(Self { element, scale: 0 });
        if let Some(F143 { scale }) = ty.dialect_value() {
            return Some(Self { element: ElementType::F143, scale: i32::from(*scale) });
        }
        if let Some(F152 { scale }) = ty.dialect_value() {
            return Some(Self { element: ElementType::F152, scale: i32::from(*scale) });
        }
        match (ty.as_float(), ty.as_integer()) {
            (Some(FloatFormat::F16), _) => unscaled(ElementType::F16),
            (Some(FloatFormat::F32), _) => unscaled(ElementType::F32),
            (_, Some((32, Signedness::Unsigned))) => unscaled(ElementType::U32),
            (_, Some((32, _))) => unscaled(ElementType::I32),
            (_, Some((16, Signedness::Unsigned))) => unscaled(ElementType::U16),
            (_, Some((16, _))) => unscaled(ElementType::I16),
            (_, Some((8, Signedness::Unsigned))) => unscaled(ElementType::U8),
            (_, Some((8, _))) => unscaled(ElementType::I8),
            _ => None,
        }
    }

    /// The type; `None` for a scale out of range.
    #[must_use]
    pub fn ty(self) -> Option<Type> {
        let scale = i8::try_from(self.scale).ok()?;
        let integer = |width, signedness| Type::new(crate::ir::TypeKind::Integer { width, signedness });
        Some(match self.element {
            ElementType::F143 => Type::dialect(F143::new(scale)?),
            ElementType::F152 => Type::dialect(F152::new(scale)?),
            ElementType::F32 => Type::float(FloatFormat::F32),
            ElementType::F16 => Type::float(FloatFormat::F16),
            ElementType::I32 => Type::integer(32),
            ElementType::I16 => Type::integer(16),
            ElementType::I8 => Type::integer(8),
            ElementType::U32 => integer(32, Signedness::Unsigned),
            ElementType::U16 => integer(16, Signedness::Unsigned),
            ElementType::U8 => integer(8, Signedness::Unsigned),
        })
    }
}
