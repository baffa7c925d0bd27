//! The names of element orders: `row_major`, `amp_left<16>`, `block_major<64, 16>`.
//!
//! `block_major<rows, columns>` has inner width 16; another one stands as a third parameter.

use std::fmt;
use std::str::FromStr;

use super::{ElementOrder, OrderCode, OrderError};

/// Inner width of a block-major order whose name gives none: that of f16.
const DEFAULT_BLOCK_INNER: u32 = 16;

/// Every name with the range of its number of parameters, in order of declaration.
const NAMES: &[(&str, usize, usize)] = &[
    ("row_major", 0, 0),
    ("column_major", 0, 0),
    ("amp_left", 1, 1),
    ("amp_right", 1, 1),
    ("block_major", 2, 3),
    ("transposed_left", 1, 1),
    ("transposed_right", 1, 1),
    ("transposed_block_major", 2, 3),
];

impl ElementOrder {
    /// Every kind's name, without parameters, in order of declaration.
    pub fn kind_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, ..)| *name)
    }

    /// The name of the kind, without parameters.
    #[must_use]
    pub fn kind_name(self) -> &'static str {
        match self {
            Self::RowMajor => "row_major",
            Self::ColumnMajor => "column_major",
            Self::AmpLeft { .. } => "amp_left",
            Self::AmpRight { .. } => "amp_right",
            Self::BlockMajor { .. } => "block_major",
            Self::TransposedLeft { .. } => "transposed_left",
            Self::TransposedRight { .. } => "transposed_right",
            Self::TransposedBlockMajor { .. } => "transposed_block_major",
        }
    }

    /// The parameters as the name prints them.
    #[must_use]
    pub fn parameters(self) -> Vec<u32> {
        match self {
            Self::RowMajor | Self::ColumnMajor => Vec::new(),
            Self::AmpLeft { inner }
            | Self::AmpRight { inner }
            | Self::TransposedLeft { inner }
            | Self::TransposedRight { inner } => vec![inner],
            Self::BlockMajor { rows, columns, inner }
            | Self::TransposedBlockMajor { rows, columns, inner } => {
                if inner == DEFAULT_BLOCK_INNER {
                    vec![rows, columns]
                } else {
                    vec![rows, columns, inner]
                }
            }
        }
    }

    /// The order of that kind with those parameters, checked.
    ///
    /// # Errors
    /// [`OrderCode`]: an unknown kind, a wrong number of parameters, or one out of range.
    pub fn from_parts(kind: &str, parameters: &[u32]) -> Result<Self, OrderError> {
        let Some(&(name, least, most)) = NAMES.iter().find(|(name, ..)| *name == kind) else {
            let known = Self::kind_names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("unknown element order `{kind}`; known are {known}");
            return Err(OrderError { code: OrderCode::UnknownOrder, message });
        };
        if !(least..=most).contains(&parameters.len()) {
            let wanted = if least == most { least.to_string() } else { format!("{least} or {most}") };
            let message = format!("`{name}` takes {wanted} parameters, found {}", parameters.len());
            return Err(OrderError { code: OrderCode::BadParameter, message });
        }
        let order = match (name, parameters) {
            ("column_major", []) => Self::ColumnMajor,
            ("amp_left", &[inner]) => Self::AmpLeft { inner },
            ("amp_right", &[inner]) => Self::AmpRight { inner },
            ("transposed_left", &[inner]) => Self::TransposedLeft { inner },
            ("transposed_right", &[inner]) => Self::TransposedRight { inner },
            ("block_major", &[rows, columns, ref rest @ ..]) => Self::BlockMajor {
                rows,
                columns,
                inner: rest.first().copied().unwrap_or(DEFAULT_BLOCK_INNER),
            },
            ("transposed_block_major", &[rows, columns, ref rest @ ..]) => Self::TransposedBlockMajor {
                rows,
                columns,
                inner: rest.first().copied().unwrap_or(DEFAULT_BLOCK_INNER),
            },
            _ => Self::RowMajor,
        };
        order.check_parameters()?;
        Ok(order)
    }
}

impl fmt::Display for ElementOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        let parameters = self.parameters();
        if parameters.is_empty() {
            return Ok(());
        }
        write!(f, "<{}>", parameters.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
    }
}

impl FromStr for ElementOrder {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Self, OrderError> {
        let Some((kind, rest)) = text.split_once('<') else { return Self::from_parts(text.trim(), &[]) };
        let malformed = || OrderError {
            code: OrderCode::UnknownOrder,
            message: format!("`{text}` is not an element order; expected a form such as `amp_left<16>`"),
        };
        let inside = rest.trim_end().strip_suffix('>').ok_or_else(malformed)?;
        let parameters = inside
            .split(',')
            .map(|parameter| parameter.trim().parse())
            .collect::<Result<Vec<u32>, _>>()
            .map_err(|_| malformed())?;
        Self::from_parts(kind.trim(), &parameters)
    }
}
