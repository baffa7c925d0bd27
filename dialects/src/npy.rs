//! NumPy array files, versions 1 to 3: little-endian numbers in C order. What is not that is refused.

use ipu_device::numerics::{ElementType, decode_elements};

/// An array of numbers, or of bytes that may be codes.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyArray {
    /// Length of each axis.
    pub shape: Vec<u64>,
    /// Bytes of an element.
    pub width: usize,
    /// The elements as they lie.
    pub bytes: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Element(ElementType),
    F64,
    /// `V1`: bytes without a number.
    Raw,
}

const KINDS: &[(&str, Kind)] = &[
    ("<f2", Kind::Element(ElementType::F16)),
    ("<f4", Kind::Element(ElementType::F32)),
    ("<f8", Kind::F64),
    ("|u1", Kind::Element(ElementType::U8)),
    ("|i1", Kind::Element(ElementType::I8)),
    ("<u2", Kind::Element(ElementType::U16)),
    ("<i2", Kind::Element(ElementType::I16)),
    ("<u4", Kind::Element(ElementType::U32)),
    ("<i4", Kind::Element(ElementType::I32)),
    ("|V1", Kind::Raw),
];

impl NpyArray {
    /// Reads a file.
    ///
    /// # Errors
    /// The text says what is wrong with it.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let rest = file.strip_prefix(b"\x93NUMPY").ok_or("not a NumPy file")?;
        let (&[major, _], rest) = rest.split_first_chunk().ok_or("the file ends in its header")?;
        let (length, rest) = match major {
            1 => {
                let (length, rest) = rest.split_first_chunk().ok_or("the file ends in its header")?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk().ok_or("the file ends in its header")?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
            _ => return Err(format!("version {major} of the format is not known")),
        };
        let (header, bytes) = rest.split_at_checked(length).ok_or("the file ends in its header")?;
        let header = std::str::from_utf8(header).map_err(|_| "the header is no text")?;
        if field(header, "fortran_order")? != "False" {
            return Err("the array is in Fortran order; expected C order".to_owned());
        }
        let name = field(header, "descr")?.trim_matches(['\'', '"']);
        let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("elements of type `{name}` are not known"))?;
        let shape = read_shape(field(header, "shape")?)?;
        let width = match kind {
            Kind::Element(element) => element.bytes() as usize,
            Kind::F64 => 8,
            Kind::Raw => 1,
        };
        let expected = shape.iter().try_fold(width as u64, |bytes, &extent| bytes.checked_mul(extent));
        if expected != Some(bytes.len() as u64) {
            return Err(format!("the array {shape:?} of `{name}` has {} bytes", bytes.len()));
        }
        Ok(Self { shape, width, bytes: bytes.to_vec(), kind })
    }

    /// The numbers; `None` for bytes without a number.
    #[must_use]
    pub fn values(&self) -> Option<Vec<f64>> {
        match self.kind {
            Kind::Element(element) => decode_elements(element, 0, &self.bytes).ok(),
            Kind::F64 => {
                Some(self.bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
            }
            Kind::Raw => None,
        }
    }

    /// Whether the elements are bytes, which for an FP8 tensor are its codes.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(self.kind, Kind::Raw | Kind::Element(ElementType::U8))
    }
}

/// The text of a value of the header's dictionary.
fn field<'t>(header: &'t str, name: &str) -> Result<&'t str, String> {
    let missing = || format!("the header has no `{name}`");
    let (_, rest) = header.split_once(&format!("'{name}':")).ok_or_else(missing)?;
    let rest = rest.trim_start();
    let end = if rest.starts_with('(') { rest.find(')').map(|end| end + 1) } else { rest.find([',', '}']) };
    rest.get(..end.ok_or_else(missing)?).map(str::trim).ok_or_else(missing)
}

fn read_shape(text: &str) -> Result<Vec<u64>, String> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let inside = inside.ok_or_else(|| format!("`{text}` is no shape"))?;
    let extents = inside.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    extents.map(|extent| extent.parse().map_err(|_| format!("`{extent}` is no length"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend_from_slice(&(header.len() as u16).to_le_bytes());
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(data);
        file
    }

    #[test]
    fn a_file_gives_its_numbers() {
        let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }\n";
        let array = NpyArray::read(&file(header, &[0, 0x3c, 0, 0xc0])).unwrap();
        assert_eq!((array.shape.clone(), array.values()), (vec![2, 1], Some(vec![1.0, -2.0])));
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }";
        for (file, wanted) in [
            (b"PK".to_vec(), "not a NumPy file"),
            (file(header, &[0]), "the array [2, 1] of `<f2` has 1 bytes"),
            (file(&header.replace("False", "True"), &[]), "the array is in Fortran order; expected C order"),
            (file(&header.replace("<f2", ">f2"), &[]), "elements of type `>f2` are not known"),
            (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "the file ends in its header"),
            (file("{}", &[]), "the header has no `fortran_order`"),
        ] {
            assert_eq!(NpyArray::read(&file), Err(wanted.to_owned()));
        }
    }
}
