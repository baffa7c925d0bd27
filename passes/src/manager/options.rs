//! Typed options of passes: text of a pipeline in, a serde struct out, and back.
//!
//! An options struct derives `Serialize`, `Deserialize` and `Default` with `deny_unknown_fields`; its documented
//! list ([`OptionInfo`]) is held to the struct's fields by a test.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{self, IntoDeserializer, Visitor, value::MapDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What `--list-passes` and the reference say about one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OptionInfo {
    /// The key, as in `{key=value}`.
    pub name: &'static str,
    /// The form of its value, such as `N`, `MxNxK` or `calibrated|recorded`.
    pub form: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// Why the options of a pass were refused; the text names the option and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError(pub String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}

impl de::Error for OptionError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self(if expected.is_empty() {
            format!("unknown option `{field}`; the pass takes none")
        } else {
            format!("unknown option `{field}`; the pass takes `{}`", expected.join("`, `"))
        })
    }
}

/// Reads an options struct from the texts of its values; what is not given keeps its default.
///
/// # Errors
/// An unknown key, or a value that does not read as its field's type.
pub fn read<'de, T: Deserialize<'de>>(values: &'de IndexMap<String, String>) -> Result<T, OptionError> {
    let entries = values.iter().map(|(key, value)| (key.as_str(), Text { key, value }));
    T::deserialize(MapDeserializer::new(entries))
}

/// The defaults of an options struct, by key.
#[must_use]
pub fn defaults<T: Serialize + Default>() -> Value {
    serde_json::to_value(T::default()).unwrap_or_default()
}

/// The defaults of a pass without options.
#[must_use]
pub fn no_defaults() -> Value {
    Value::Object(serde_json::Map::new())
}

/// One value's text, read as whatever type the field has.
#[derive(Clone, Copy)]
struct Text<'a> {
    key: &'a str,
    value: &'a str,
}

impl Text<'_> {
    fn parse<T: std::str::FromStr>(self, form: &str) -> Result<T, OptionError> {
        self.value
            .parse()
            .map_err(|_| OptionError(format!("option `{}` is `{}`, expected {form}", self.key, self.value)))
    }
}

impl<'de> IntoDeserializer<'de, OptionError> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $form:literal,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
            visitor.$visit(self.parse($form)?)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Text<'de> {
    type Error = OptionError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        visitor.visit_borrowed_str(self.value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OptionError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, OptionError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, OptionError> {
        if !variants.contains(&self.value) {
            let expected = variants.join("`, `");
            return Err(OptionError(format!(
                "option `{}` is `{}`, expected one of `{expected}`",
                self.key, self.value
            )));
        }
        visitor.visit_enum(self.value.into_deserializer())
    }

    parsed! {
        deserialize_bool visit_bool "`true` or `false`",
        deserialize_u8 visit_u8 "a number up to 255",
        deserialize_u16 visit_u16 "a number up to 65535",
        deserialize_u32 visit_u32 "a whole number",
        deserialize_u64 visit_u64 "a whole number",
        deserialize_i32 visit_i32 "an integer",
        deserialize_i64 visit_i64 "an integer",
        deserialize_f64 visit_f64 "a number",
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
    struct Sample {
        tiles: Option<u32>,
        keep_all: bool,
        label: String,
        mode: Mode,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        #[default]
        Fast,
        Exact,
    }

    fn sample(values: &[(&str, &str)]) -> Result<Sample, String> {
        let values = values.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        read(&values).map_err(|error: OptionError| error.0)
    }

    #[test]
    fn values_read_as_the_type_of_their_field() {
        let read = sample(&[("tiles", "64"), ("label", "64"), ("keep-all", "true"), ("mode", "exact")]);
        let expected = Sample { tiles: Some(64), keep_all: true, label: "64".into(), mode: Mode::Exact };
        assert_eq!(read, Ok(expected));
        assert_eq!(sample(&[]), Ok(Sample::default()));
    }

    #[test]
    fn refusals_name_the_option_and_what_it_takes() {
        let refusal = |key, value| sample(&[(key, value)]).unwrap_err();
        assert_eq!(refusal("tiles", "many"), "option `tiles` is `many`, expected a whole number");
        assert_eq!(refusal("mode", "slow"), "option `mode` is `slow`, expected one of `fast`, `exact`");
        assert_eq!(
            refusal("tile", "1"),
            "unknown option `tile`; the pass takes `tiles`, `keep-all`, `label`, `mode`"
        );
    }
}
