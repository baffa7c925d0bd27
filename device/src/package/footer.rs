//! Our footer: what the message has no field for, and a digest of all that stands before it.
//!
//! Bytes, directly after the message: [`MAGIC`]; the length of the JSON as little-endian u64; the JSON, UTF-8;
//! SHA-256 of every byte before the digest. The file ends there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::error::{PackageCode, PackageError};

/// The first eight bytes.
pub(super) const MAGIC: [u8; 8] = *b"IPUFOOT1";
/// Bytes of a SHA-256.
const DIGEST: usize = 32;
/// Magic and length.
const HEADER: usize = 16;

/// What only our packages record.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footer {
    /// The programs that made the package: name to version.
    pub versions: BTreeMap<String, String>,
    /// The command line that made it.
    pub command: Vec<String>,
    /// The layout of each binding, by name, as its producer writes it.
    pub binding_layouts: Map<String, Value>,
    /// Where parts of the program come from, as their producer writes it.
    pub origins: Value,
    /// Symbols of kernels that stand in the images as a trap of the right size: a simulator runs their
    /// arithmetic, hardware cannot run the package.
    pub reference_kernels: Vec<String>,
}

impl Footer {
    /// The footer's JSON.
    pub(super) fn json(&self) -> Result<Vec<u8>, PackageError> {
        serde_json::to_vec(self).map_err(|error| {
            PackageError::new(PackageCode::Footer, "footer", format!("cannot be written as JSON: {error}"))
        })
    }
}

/// Bytes that a footer of `json` takes.
pub(super) fn size(json: &[u8]) -> usize {
    HEADER + json.len() + DIGEST
}

/// Appends the footer of `json` to `message`.
pub(super) fn append(mut message: Vec<u8>, json: &[u8]) -> Vec<u8> {
    message.extend_from_slice(&MAGIC);
    message.extend_from_slice(&(json.len() as u64).to_le_bytes());
    message.extend_from_slice(json);
    let digest = Sha256::digest(&message);
    message.extend_from_slice(&digest);
    message
}

/// Reads the footer of `file`, whose message ends at `message_end`, and checks the digest.
pub(super) fn parse(file: &[u8], message_end: usize) -> Result<Footer, PackageError> {
    let refuse = |message: String| {
        PackageError::new(PackageCode::Footer, format!("byte {message_end}"), message)
            .fix("compile the package again, or read it as foreign if another compiler made it")
    };
    let footer = file.get(message_end..).unwrap_or_default();
    if footer.is_empty() {
        return Err(refuse("the file ends with the message, but a footer was expected".to_owned()));
    }
    let (header, rest) = footer.split_at_checked(HEADER).ok_or_else(|| {
        refuse(format!("the footer has {} bytes, but needs {HEADER} or more", footer.len()))
    })?;
    let (magic, length) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(refuse("the bytes after the message are not a footer".to_owned()));
    }
    let length = length.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
    let expected = length.checked_add(DIGEST as u64);
    if expected != Some(rest.len() as u64) {
        return Err(refuse(format!(
            "the footer announces {length} bytes of JSON and a digest of {DIGEST}, but {} bytes follow",
            rest.len()
        )));
    }
    let (json, digest) = rest.split_at(rest.len() - DIGEST);
    if Sha256::digest(&file[..file.len() - DIGEST]).as_slice() != digest {
        return Err(PackageError::new(
            PackageCode::Digest,
            format!("byte {}", file.len() - DIGEST),
            "SHA-256 does not match the contents: the file is damaged",
        )
        .fix("compile the package again or copy it again from its source"));
    }
    serde_json::from_slice(json).map_err(|error| refuse(format!("the footer's JSON is malformed: {error}")))
}
