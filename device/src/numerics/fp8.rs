//! The two 8-bit floating-point formats: F143 (bias 8) and F152 (bias 16).
//!
//! Neither has infinities; code 0x80 is the only NaN, so there is no negative zero. A tensor has one power-of-two
//! scale `s`: a stored value `v` stands for `v * 2^s`, and storing `x` rounds `x * 2^-s` once.
//! Source: public poplibs quarter tests; the vector files under `device/tests/data/vectors`.

use std::sync::LazyLock;

use super::Overflow;
use super::half_precision::round_shift;

/// The only NaN of both formats.
const NAN_CODE: u8 = 0x80;
/// Largest magnitude code of both formats.
const MAX_CODE: u64 = 0x7f;

/// The smallest tensor scale exponent (a six-bit field).
pub const FP8_SCALE_MIN: i32 = -32;
/// The largest tensor scale exponent.
pub const FP8_SCALE_MAX: i32 = 31;

/// An 8-bit format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fp8 {
    /// Sign, 4 exponent bits, 3 fraction bits, bias 8; largest value 240.
    F143,
    /// Sign, 5 exponent bits, 2 fraction bits, bias 16; largest value 57,344.
    F152,
}

static F143_VALUES: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|code| decode(Fp8::F143, code as u8)));
static F152_VALUES: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|code| decode(Fp8::F152, code as u8)));

impl Fp8 {
    /// Bits of the fraction field.
    #[must_use]
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::F143 => 3,
            Self::F152 => 2,
        }
    }

    /// Exponent bias.
    #[must_use]
    pub const fn bias(self) -> i32 {
        match self {
            Self::F143 => 8,
            Self::F152 => 16,
        }
    }

    /// The value of each code at scale 0; NaN for 0x80. Exact.
    #[must_use]
    pub fn values(self) -> &'static [f32; 256] {
        match self {
            Self::F143 => &F143_VALUES,
            Self::F152 => &F152_VALUES,
        }
    }

    /// The value of a code in a tensor of scale `scale`. Exact in f64 for every scale.
    #[must_use]
    pub fn decode(self, code: u8, scale: i32) -> f64 {
        f64::from(self.values()[usize::from(code)]) * power_of_two(scale)
    }

    /// The code that stores `value` in a tensor of scale `scale`, rounded once to nearest, ties to even.
    ///
    /// NaN and infinities give NaN; [`Overflow::Infinity`] acts as [`Overflow::Nan`].
    #[must_use]
    pub fn encode(self, value: f64, scale: i32, overflow: Overflow) -> u8 {
        if !value.is_finite() {
            return NAN_CODE;
        }
        let bits = value.to_bits();
        let sign = ((bits >> 56) & 0x80) as u8;
        let biased = ((bits >> 52) & 0x7ff) as i32;
        if biased == 0 {
            return 0;
        }
        let exponent = (biased - 1023).saturating_sub(scale);
        let min_exponent = 1 - self.bias();
        if exponent > self.bias() {
            return overflowed(sign, overflow);
        }
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let below_normal = min_exponent.saturating_sub(exponent).max(0) as u32;
        let rounded = round_shift(significand, (52 - self.fraction_bits()).saturating_add(below_normal));
        let field = if below_normal == 0 { (exponent - min_exponent) as u64 } else { 0 };
        let magnitude = (field << self.fraction_bits()) + rounded;
        match magnitude {
            0 => 0,
            1..=MAX_CODE => sign | magnitude as u8,
            _ => overflowed(sign, overflow),
        }
    }
}

fn overflowed(sign: u8, overflow: Overflow) -> u8 {
    match overflow {
        Overflow::Saturate => sign | MAX_CODE as u8,
        Overflow::Infinity | Overflow::Nan => NAN_CODE,
    }
}

fn decode(format: Fp8, code: u8) -> f32 {
    if code == NAN_CODE {
        return f32::NAN;
    }
    let fraction =
        f32::from(code & ((1 << format.fraction_bits()) - 1)) / (1 << format.fraction_bits()) as f32;
    let field = i32::from((code & 0x7f) >> format.fraction_bits());
    let magnitude = if field == 0 {
        fraction * power_of_two(1 - format.bias()) as f32
    } else {
        (1.0 + fraction) * power_of_two(field - format.bias()) as f32
    };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

/// 2^exponent, exact; exponents past the normal range of f64 are clamped to it.
#[must_use]
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}
