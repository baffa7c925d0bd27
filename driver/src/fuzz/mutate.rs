//! Damage: to bytes of any input, to tokens of a text, to words of a package, whose digest is mended so that damage gets past it.

use std::ops::Range;

use ipu_dialects::tensor_data::sha256;
use rand::{Rng, RngExt};

use super::Target;

/// Longest text that damage makes.
const LONGEST_TEXT: usize = 128 << 10;
/// Longest package that damage makes.
const LONGEST_PACKAGE: usize = 2 << 20;
/// Starts the footer of a package.
const FOOTER: &[u8] = b"IPUFOOT1";
/// Bytes of magic and length before the JSON of a footer, and of the digest behind it.
const FOOTER_HEAD: usize = 16;
const DIGEST: usize = 32;

/// Damages `input` a few times, now and then with parts of `other`.
pub(super) fn mutate<R: Rng>(
    target: Target,
    input: &[u8],
    other: &[u8],
    words: &[String],
    random: &mut R,
) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut times = 1;
    while times < 12 && random.random_range(0..2) == 0 {
        times += 1;
    }
    for _ in 0..times {
        match (target, random.random_range(0..4)) {
            (Target::Package, 0 | 1) => damage_word(&mut bytes, random),
            (Target::Package, 2) => damage_footer(&mut bytes, words, random),
            (Target::Ir | Target::Pipeline, 0..3) => damage_tokens(&mut bytes, words, random),
            _ => damage_bytes(&mut bytes, other, random),
        }
    }
    bytes.truncate(if target == Target::Package { LONGEST_PACKAGE } else { LONGEST_TEXT });
    if target == Target::Package && random.random_range(0..16) > 0 {
        mend_footer(&mut bytes);
    }
    bytes
}

/// A range of up to `most` bytes.
fn range<R: Rng>(length: usize, most: usize, random: &mut R) -> Range<usize> {
    let start = random.random_range(0..=length);
    start..(start + random.random_range(0..=most)).min(length)
}

/// How long a piece is: mostly short.
fn reach<R: Rng>(random: &mut R) -> usize {
    [2, 8, 64, 1024][random.random_range(0..4)]
}

fn damage_bytes<R: Rng>(bytes: &mut Vec<u8>, other: &[u8], random: &mut R) {
    let most = reach(random);
    let at = range(bytes.len(), most, random);
    match random.random_range(0..8) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at.start) {
                *byte ^= 1 << random.random_range(0..8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at.start) {
                *byte = random.random();
            }
        }
        3 => drop(bytes.drain(at)),
        4 => {
            let copy = bytes[at].to_vec();
            let to = random.random_range(0..=bytes.len());
            bytes.splice(to..to, copy);
        }
        5 => {
            let copy = bytes[at.clone()].to_vec();
            let times = random.random_range(1..16);
            bytes.splice(at.end..at.end, copy.repeat(times));
        }
        6 => {
            let from = range(other.len(), 4 * most, random);
            bytes.splice(at, other[from].iter().copied());
        }
        _ if random.random_range(0..4) == 0 => {
            // The head of one and the tail of the other.
            let from = range(other.len(), other.len(), random).start;
            bytes.truncate(at.start);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => bytes.truncate(at.start),
    }
}

fn damage_tokens<R: Rng>(bytes: &mut Vec<u8>, words: &[String], random: &mut R) {
    let token = token_at(bytes, random.random_range(0..=bytes.len()));
    match random.random_range(0..9) {
        0..3 => drop(bytes.splice(token, word(words, random).bytes())),
        3 => {
            let word = format!(" {} ", word(words, random));
            bytes.splice(token.start..token.start, word.into_bytes());
        }
        4 => {
            let from = token_at(bytes, random.random_range(0..=bytes.len()));
            let copy = bytes[from].to_vec();
            bytes.splice(token, copy);
        }
        5 => drop(bytes.drain(token)),
        6 => {
            let [one, two] = [token, token_at(bytes, random.random_range(0..=bytes.len()))];
            let [first, second] = if one.start <= two.start { [one, two] } else { [two, one] };
            if first.end <= second.start {
                let (head, tail) = (bytes[first.clone()].to_vec(), bytes[second.clone()].to_vec());
                bytes.splice(second, head);
                bytes.splice(first, tail);
            }
        }
        7 => {
            // A line goes or comes again elsewhere.
            let line = line_at(bytes, token.start);
            let copy = bytes[line.clone()].to_vec();
            if random.random_range(0..2) == 0 {
                bytes.drain(line);
            }
            let to = line_at(bytes, random.random_range(0..=bytes.len())).start;
            if random.random_range(0..3) > 0 {
                bytes.splice(to..to, copy);
            }
        }
        _ => {
            let to = token.start;
            bytes.splice(to..to, nested(words, random).into_bytes());
        }
    }
}

/// Something that opens many times, and mostly closes as often.
fn nested<R: Rng>(words: &[String], random: &mut R) -> String {
    let (open, close) = [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("<", ">"),
        ("{a = ", "}"),
        ("tuple<", ">"),
        ("\"a.b\"() ({\n", "}) : () -> ()\n"),
        ("loc(fused[", "])"),
        ("#my.a<", ">"),
        ("(i + ", ")"),
        ("-", ""),
        ("builtin.module(", ")"),
        ("() -> ", ""),
    ][random.random_range(0..13)];
    let times = [3, 60, 64, 65, 95, 96, 97, 400, 3000][random.random_range(0..9)];
    let closed = if random.random_range(0..4) == 0 { times / 2 } else { times };
    format!("{}{}{}", open.repeat(times), word(words, random), close.repeat(closed))
}

fn word<'w, R: Rng>(words: &'w [String], random: &mut R) -> &'w str {
    &words[random.random_range(0..words.len())]
}

/// The token around byte `at`: a run of letters and digits, a run of spaces, or one byte.
fn token_at(bytes: &[u8], at: usize) -> Range<usize> {
    let class = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => 1,
        b' ' | b'\n' | b'\t' => 2,
        128.. => 3,
        _ => 0,
    };
    let Some(kind) = bytes.get(at).map(|&byte| class(byte)) else { return at..at };
    if kind == 0 {
        return at..at + 1;
    }
    let start = bytes[..at].iter().rposition(|&byte| class(byte) != kind).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|&byte| class(byte) != kind).map_or(bytes.len(), |next| at + next);
    start..end
}

fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |next| at + next + 1);
    start..end
}

/// Changes a number of the message, where structure is more often than in the middle.
fn damage_word<R: Rng>(bytes: &mut [u8], random: &mut R) {
    let length = footer_at(bytes).unwrap_or(bytes.len()) / 4;
    if length == 0 {
        return;
    }
    let place = match random.random_range(0..3) {
        0 => random.random_range(0..length.min(256)),
        1 => length - 1 - random.random_range(0..length.min(4096)),
        _ => random.random_range(0..length),
    };
    let other = 4 * random.random_range(0..length);
    let copy = [bytes[other], bytes[other + 1], bytes[other + 2], bytes[other + 3]];
    let Some(word) = bytes.get_mut(4 * place..4 * place + 4) else { return };
    let old = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    let edges = [0, 1, 2, 7, 8, 1471, 1472, 0x4c010, 0x50000, 0xe8000, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    let new = match random.random_range(0..6) {
        0 => edges[random.random_range(0..edges.len())],
        1 => old.wrapping_add(1 << random.random_range(0..32)),
        2 => old.wrapping_sub(1 << random.random_range(0..32)),
        3 => old ^ 1 << random.random_range(0..32),
        4 => u32::from_le_bytes(copy),
        _ => random.random(),
    };
    word.copy_from_slice(&new.to_le_bytes());
}

fn damage_footer<R: Rng>(bytes: &mut Vec<u8>, words: &[String], random: &mut R) {
    let Some(start) = footer_at(bytes) else { return damage_word(bytes, random) };
    let Some(end) = bytes.len().checked_sub(DIGEST).filter(|&end| end >= start + FOOTER_HEAD) else { return };
    let mut json = bytes[start + FOOTER_HEAD..end].to_vec();
    damage_tokens(&mut json, words, random);
    bytes.splice(start + FOOTER_HEAD..end, json);
}

fn footer_at(bytes: &[u8]) -> Option<usize> {
    bytes.windows(FOOTER.len()).rposition(|window| window == FOOTER)
}

/// Writes length and digest of the footer anew.
fn mend_footer(bytes: &mut Vec<u8>) {
    let Some(start) = footer_at(bytes).filter(|start| bytes.len() >= start + FOOTER_HEAD + DIGEST) else {
        return;
    };
    let end = bytes.len() - DIGEST;
    let length = (end - start - FOOTER_HEAD) as u64;
    bytes[start + FOOTER.len()..start + FOOTER_HEAD].copy_from_slice(&length.to_le_bytes());
    bytes.truncate(end);
    let digest = sha256(bytes);
    let digit = |at: usize| digest.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    bytes.extend((0..DIGEST).filter_map(|byte| digit(2 * byte)));
}
