//! A whole tensor as plain data: what meanings take and give.

use ipu_device::assumptions::F16_OVERFLOW;
use ipu_device::numerics::{decode_elements, encode_elements};
use sha2::{Digest, Sha256};

use crate::ipu::ScaledElement;
use crate::ir::Type;

/// Most bytes of a tensor that a meaning works on.
pub const MOST_BYTES: u64 = 1 << 30;

/// A tensor: its shape, its element type, and its elements in row-major order, little-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorData {
    /// Length of each axis.
    pub shape: Vec<u64>,
    /// Element type, with the scale of FP8.
    pub element: ScaledElement,
    /// The elements.
    pub bytes: Vec<u8>,
}

impl TensorData {
    /// Shape and element type of `ty`, whatever its encoding.
    ///
    /// # Errors
    /// The text says why a tensor of that type cannot be data.
    pub fn type_of(ty: &Type) -> Result<(Vec<u64>, ScaledElement), String> {
        let tensor = ty.as_tensor().ok_or_else(|| format!("`{ty}` is no tensor"))?;
        let element = ScaledElement::of(&tensor.element)
            .ok_or_else(|| format!("elements of type `{}` have no arithmetic", tensor.element))?;
        let bytes =
            tensor.element_count().and_then(|count| count.checked_mul(u64::from(element.element.bytes())));
        match bytes {
            Some(bytes) if bytes <= MOST_BYTES => Ok((tensor.shape.clone(), element)),
            _ => Err(format!("`{ty}` has more than {MOST_BYTES} bytes")),
        }
    }

    /// The tensor of that shape and type with these elements, each rounded once.
    #[must_use]
    pub fn from_values(
        shape: Vec<u64>,
        element: ScaledElement,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let bytes = encode_elements(element.element, element.scale, F16_OVERFLOW, values).unwrap_or_default();
        Self { shape, element, bytes }
    }

    /// The elements as exact numbers.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        decode_elements(self.element.element, self.element.scale, &self.bytes).unwrap_or_default()
    }

    /// Elements that the shape has.
    #[must_use]
    pub fn element_count(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether there is data for every element.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let count = self.shape.iter().try_fold(1u64, |count, &extent| count.checked_mul(extent));
        count.and_then(|count| count.checked_mul(u64::from(self.element.element.bytes())))
            == Some(self.bytes.len() as u64)
    }

    /// Row-major indices of the elements whose bits are not those of `other`, any NaN equal to any NaN; all if it has another shape
    /// or type.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<usize> {
        let count = self.element_count() as usize;
        if (&self.shape, self.element, self.bytes.len()) != (&other.shape, other.element, other.bytes.len()) {
            return (0..count).collect();
        }
        let width = (self.element.element.bytes() as usize).max(1);
        let equal_bits = self.bytes.chunks(width).zip(other.bytes.chunks(width)).map(|(one, two)| one == two);
        let both_nan =
            self.values().into_iter().zip(other.values()).map(|(one, two)| one.is_nan() && two.is_nan());
        let equal = equal_bits.zip(both_nan).map(|(bits, nan)| bits || nan);
        equal.enumerate().filter(|&(_, equal)| !equal).map(|(index, _)| index).collect()
    }

    /// SHA-256 of the bytes, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        sha256(&self.bytes)
    }
}

/// The SHA-256 of `bytes`, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
