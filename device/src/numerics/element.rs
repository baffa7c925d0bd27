//! Element types: sizes, names, and conversion of whole buffers to and from numbers.

use half::f16;

use super::{FP8_SCALE_MAX, FP8_SCALE_MIN, Fp8, Overflow, f16_from_f64};

crate::coded_enum! {
    /// What can be wrong with a buffer of elements.
    pub enum NumericsCode {
        /// The bytes are not a whole number of elements.
        PartialElement = "D0601", "buffer does not hold a whole number of elements",
        /// A scale lies outside -32..31, or the type has none.
        BadScale = "D0602", "scale exponent not valid for the element type",
    }
}

/// An error of this folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumericsError {
    /// Its kind.
    pub code: NumericsCode,
    /// What is wrong, what was expected.
    pub message: String,
}

impl std::fmt::Display for NumericsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NumericsError {}

/// The type of a stored element. FP8 types carry no scale here: the scale belongs to the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// FP8, 1-4-3.
    F143,
    /// FP8, 1-5-2.
    F152,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
}

impl ElementType {
    /// All types, in order of declaration.
    pub const ALL: &'static [Self] = &[
        Self::F32,
        Self::F16,
        Self::F143,
        Self::F152,
        Self::I32,
        Self::U32,
        Self::I16,
        Self::U16,
        Self::I8,
        Self::U8,
    ];

    /// The name, as in kernel symbols.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F143 => "f143",
            Self::F152 => "f152",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I8 => "i8",
            Self::U8 => "u8",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// Size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F143 | Self::F152 | Self::I8 | Self::U8 => 1,
        }
    }

    /// Size in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bytes() * 8
    }

    /// The 8-bit floating-point format, where the type is one.
    #[must_use]
    pub const fn fp8(self) -> Option<Fp8> {
        match self {
            Self::F143 => Some(Fp8::F143),
            Self::F152 => Some(Fp8::F152),
            _ => None,
        }
    }

    /// Inner elements of one AMP micro step, always 32 bytes of operand: 8, 16 or 32.
    /// `None` for types that the AMP unit does not take.
    #[must_use]
    pub const fn amp_inner(self) -> Option<u32> {
        match self {
            Self::F32 | Self::F16 | Self::F143 | Self::F152 => Some(32 / self.bytes()),
            _ => None,
        }
    }

    /// Whether `scale` is a scale exponent that a tensor of this type can have: -32..31 for FP8, else 0.
    ///
    /// # Errors
    /// [`NumericsCode::BadScale`] names the range.
    pub fn check_scale(self, scale: i32) -> Result<(), NumericsError> {
        let range = if self.fp8().is_some() { FP8_SCALE_MIN..=FP8_SCALE_MAX } else { 0..=0 };
        if range.contains(&scale) {
            return Ok(());
        }
        Err(NumericsError {
            code: NumericsCode::BadScale,
            message: format!(
                "scale exponent {scale} of type `{}` is outside {}..{}",
                self.name(),
                range.start(),
                range.end()
            ),
        })
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers that `bytes` stand for, exactly: little-endian elements of type `element` at scale `2^scale`.
///
/// # Errors
/// [`NumericsCode`]: a partial element at the end, or a scale that the type cannot have.
pub fn decode_elements(element: ElementType, scale: i32, bytes: &[u8]) -> Result<Vec<f64>, NumericsError> {
    element.check_scale(scale)?;
    if !bytes.len().is_multiple_of(element.bytes() as usize) {
        return Err(NumericsError {
            code: NumericsCode::PartialElement,
            message: format!("{} bytes are not a whole number of `{element}` elements", bytes.len()),
        });
    }
    if let Some(format) = element.fp8() {
        let factor = power(scale);
        let values = format.values();
        return Ok(bytes.iter().map(|&code| f64::from(values[usize::from(code)]) * factor).collect());
    }
    Ok(match element {
        ElementType::F32 => words(bytes).map(|word| f64::from(f32::from_bits(word))).collect(),
        ElementType::F16 => halves(bytes).map(|half| f64::from(f16::from_bits(half))).collect(),
        ElementType::I32 => words(bytes).map(|word| f64::from(word as i32)).collect(),
        ElementType::U32 => words(bytes).map(f64::from).collect(),
        ElementType::I16 => halves(bytes).map(|half| f64::from(half as i16)).collect(),
        ElementType::U16 => halves(bytes).map(f64::from).collect(),
        ElementType::I8 => bytes.iter().map(|&byte| f64::from(byte as i8)).collect(),
        _ => bytes.iter().map(|&byte| f64::from(byte)).collect(),
    })
}

/// `values` as little-endian elements of type `element` at scale `2^scale`, each rounded once.
///
/// Past the largest f16 or FP8 value `overflow` decides; f32 becomes an infinity, as IEEE 754 has it. Integers round to nearest
/// even and saturate; NaN becomes 0 there.
///
/// # Errors
/// [`NumericsCode::BadScale`] for a scale that the type cannot have.
pub fn encode_elements(
    element: ElementType,
    scale: i32,
    overflow: Overflow,
    values: impl IntoIterator<Item = f64>,
) -> Result<Vec<u8>, NumericsError> {
    element.check_scale(scale)?;
    let values = values.into_iter();
    if let Some(format) = element.fp8() {
        return Ok(values.map(|value| format.encode(value, scale, overflow)).collect());
    }
    let integer = |value: f64| value.round_ties_even();
    Ok(match element {
        ElementType::F32 => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
        ElementType::F16 => values.flat_map(|value| f16_from_f64(value, overflow).to_le_bytes()).collect(),
        ElementType::I32 => values.flat_map(|value| (integer(value) as i32).to_le_bytes()).collect(),
        ElementType::U32 => values.flat_map(|value| (integer(value) as u32).to_le_bytes()).collect(),
        ElementType::I16 => values.flat_map(|value| (integer(value) as i16).to_le_bytes()).collect(),
        ElementType::U16 => values.flat_map(|value| (integer(value) as u16).to_le_bytes()).collect(),
        ElementType::I8 => values.map(|value| (integer(value) as i8) as u8).collect(),
        _ => values.map(|value| integer(value) as u8).collect(),
    })
}

fn power(scale: i32) -> f64 {
    super::power_of_two(scale)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk))
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.as_chunks::<2>().0.iter().map(|chunk| u16::from_le_bytes(*chunk))
}
