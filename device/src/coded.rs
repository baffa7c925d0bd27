//! Error kinds with stable codes.
//!
//! Every crate declares its kinds of error as enums that implement [`Coded`]; codes are unique across the
//! workspace. `ipu_dialects::Diagnostic` adds spans, labels, notes and fix-its; only the driver renders them.

use std::fmt;

/// A kind of error with a stable code and a page of its own.
pub trait Coded: fmt::Debug + Send + Sync {
    /// The stable code, a letter for the floor and four digits: `D` device, `E` language, `V` verifier,
    /// `P` passes and pipelines, `R` runtime and driver.
    fn code(&self) -> &'static str;
    /// One line for a table of contents, lower case, no full stop.
    fn title(&self) -> &'static str;
}

/// Declares an enum of error kinds, each with its code and title.
///
/// ```
/// ipu_device::coded_enum! {
///     /// What can be wrong with a sample.
///     pub enum SampleCode {
///         /// The sample is too long.
///         TooLong = "D9999", "sample too long",
///     }
/// }
/// assert_eq!(ipu_device::Coded::code(&SampleCode::TooLong), "D9999");
/// assert_eq!(SampleCode::ALL.len(), 1);
/// ```
#[macro_export]
macro_rules! coded_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $code:literal, $title:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $($(#[$variant_meta])* $variant,)* }

        impl $name {
            /// All kinds, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        impl $crate::Coded for $name {
            fn code(&self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
            fn title(&self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}
