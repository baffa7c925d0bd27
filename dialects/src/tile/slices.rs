//! The slices of a binding as a family: `(t) in (4) on t at 0x60000 image 1024*t bytes 1024`.

use std::sync::Arc;

use ipu_device::{Address, Bytes, LogicalTile};

use super::program::Slice;
use crate::exchange::families::{factor, family_of, fit_or_table};
use crate::exchange::index::{Index, IndexError, parse_family, print_family};
use crate::ipu::Family;
use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// `#tile.slices<...>`: where the bytes of a binding's image live; a slice for each member, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceFamily {
    /// The members.
    pub family: Family,
    /// Their tiles.
    pub on: Index,
    /// Addresses: one for all, or a table.
    pub at: SliceAddresses,
    /// First byte in the image.
    pub image: Index,
    /// Length.
    pub bytes: Index,
}

/// Addresses of slices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SliceAddresses {
    /// The same for all members.
    Same(Address),
    /// One for each.
    Each(Arc<[Address]>),
}

/// Why a family gives no slices.
pub(super) enum SliceError {
    /// An index of that name has no values.
    Index(&'static str, IndexError),
    /// The addresses are not as many as the members.
    Addresses(usize, usize),
    /// A value of that name is out of range in that member.
    Range(&'static str, usize, i64),
}

impl std::fmt::Display for SliceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index(part, error) => write!(f, "`{part}`: {error}"),
            Self::Addresses(found, members) => {
                write!(f, "`at` has {found} addresses, expected one or {members}")
            }
            Self::Range(part, member, value) => {
                write!(f, "`{part}` of member {member} is {value}, which is out of range")
            }
        }
    }
}

impl SliceFamily {
    /// The family of at least one slice.
    pub(super) fn of(slices: &[Slice]) -> Option<Self> {
        let first = slices.first()?;
        let column = |value: fn(&Slice) -> i64| slices.iter().map(value).collect::<Vec<i64>>();
        let columns = [
            column(|slice| slice.tile.0.into()),
            column(|slice| slice.image_offset.into()),
            column(|slice| slice.bytes.0.into()),
        ];
        let sizes = factor(&columns).unwrap_or_else(|| vec![slices.len() as u32]);
        let [on, image, bytes] = columns.map(|column| fit_or_table(&column, &sizes));
        let same = slices.iter().all(|slice| slice.address == first.address);
        let at = if same {
            SliceAddresses::Same(first.address)
        } else {
            SliceAddresses::Each(slices.iter().map(|slice| slice.address).collect())
        };
        Some(Self { family: family_of(&sizes), on, at, image, bytes })
    }

    /// The slices.
    pub(super) fn slices(&self) -> Result<Vec<Slice>, SliceError> {
        let members = self.family.len();
        let values =
            |part, index: &Index| index.values(&self.family).map_err(|error| SliceError::Index(part, error));
        let (on, image, bytes) =
            (values("on", &self.on)?, values("image", &self.image)?, values("bytes", &self.bytes)?);
        if let SliceAddresses::Each(addresses) = &self.at
            && addresses.len() != members
        {
            return Err(SliceError::Addresses(addresses.len(), members));
        }
        let unsigned =
            |part, member, value| u32::try_from(value).map_err(|_| SliceError::Range(part, member, value));
        let mut slices = Vec::with_capacity(members);
        for (member, ((&tile, &image), &bytes)) in on.iter().zip(&image).zip(&bytes).enumerate() {
            let known = u64::try_from(tile).ok().and_then(LogicalTile::new);
            let address = match &self.at {
                SliceAddresses::Same(address) => *address,
                SliceAddresses::Each(addresses) => addresses.get(member).copied().unwrap_or_default(),
            };
            slices.push(Slice {
                tile: known.ok_or(SliceError::Range("on", member, tile))?,
                address,
                image_offset: unsigned("image", member, image)?,
                bytes: Bytes(unsigned("bytes", member, bytes)?),
            });
        }
        Ok(slices)
    }

    /// `(t) in (4) on t at 0x60000 image 1024*t bytes 1024`
    pub(super) fn parse_words(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let family = parse_family(parser)?;
        parser.expect_word("on")?;
        let on = Index::parse(parser, &family.ids)?;
        parser.expect_word("at")?;
        let at = SliceAddresses::parse(parser)?;
        parser.expect_word("image")?;
        let image = Index::parse(parser, &family.ids)?;
        parser.expect_word("bytes")?;
        let bytes = Index::parse(parser, &family.ids)?;
        Ok(Self { family, on, at, image, bytes })
    }

    pub(super) fn print_words(&self, printer: &mut Printer<'_>) {
        let ids = &self.family.ids;
        if print_family(&self.family, printer) {
            printer.text(" ");
        }
        printer.text("on ");
        self.on.print(printer, ids);
        printer.text(" at ");
        self.at.print(printer);
        printer.text(" image ");
        self.image.print(printer, ids);
        printer.text(" bytes ");
        self.bytes.print(printer, ids);
    }
}

impl SliceAddresses {
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let address = |parser: &mut Parser<'_>| parser.parse_integer("an address of 32 bits").map(Address);
        if !parser.at(TokenKind::LeftSquare) {
            return address(parser).map(Self::Same);
        }
        let list = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, address)?;
        Ok(Self::Each(list.into()))
    }

    fn print(&self, printer: &mut Printer<'_>) {
        match self {
            Self::Same(address) => printer.display(address),
            Self::Each(addresses) => {
                printer.text("[");
                printer.list(addresses.iter(), ", ", |printer, address| printer.display(address));
                printer.text("]");
            }
        }
    }
}

impl DialectValue for SliceFamily {
    const NAME: &'static str = "tile.slices";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and slices")?;
        let family = Self::parse_words(parser)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(family)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        self.print_words(printer);
        printer.text(">");
    }
}
