//! The standard stream framing: a segment table before the segments.
//!
//! u32 segments less one, u32 words of each segment, padding to 8 bytes, the segments back to back.

use super::error::{PackageCode, PackageError};

/// Most segments a message may have.
const SEGMENTS_MAX: u32 = 511;

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let at = index.checked_mul(4)?;
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The segments of the message at the start of `file`, and where it ends.
pub(super) fn segments(file: &[u8]) -> Result<(Vec<&[u8]>, usize), PackageError> {
    let refuse = |at: usize, message: String| {
        PackageError::new(PackageCode::Framing, format!("byte {at}"), message)
            .fix("is this an `.ipuexe` file, whole and not packed?")
    };
    let short = |at: usize, what: &str| refuse(at, format!("the file ends inside {what}"));
    let last = word(file, 0).ok_or_else(|| short(0, "the segment table"))?;
    if last >= SEGMENTS_MAX {
        return Err(refuse(
            0,
            format!("{} segments announced, but 1 to {SEGMENTS_MAX} expected", u64::from(last) + 1),
        ));
    }
    let count = last as usize + 1;
    let mut at = (4 + 4 * count).next_multiple_of(8);
    let mut segments = Vec::with_capacity(count);
    for index in 0..count {
        let words = word(file, 1 + index).ok_or_else(|| short(4 + 4 * index, "the segment table"))?;
        let end = (words as usize).checked_mul(8).and_then(|size| at.checked_add(size));
        let segment = end.and_then(|end| file.get(at..end));
        segments.push(segment.ok_or_else(|| short(at, &format!("segment {index} of {words} words")))?);
        at += words as usize * 8;
    }
    Ok((segments, at))
}

/// The bytes of a message, table and segments, with room for `more` bytes behind it.
pub(super) fn message(segments: &[&[u8]], more: usize) -> Vec<u8> {
    let table = (4 + 4 * segments.len()).next_multiple_of(8);
    let size: usize = segments.iter().map(|segment| segment.len()).sum();
    let mut bytes = Vec::with_capacity(table + size + more);
    bytes.extend_from_slice(&(segments.len() as u32 - 1).to_le_bytes());
    for segment in segments {
        bytes.extend_from_slice(&((segment.len() / 8) as u32).to_le_bytes());
    }
    bytes.resize(table, 0);
    for segment in segments {
        bytes.extend_from_slice(segment);
    }
    bytes
}
