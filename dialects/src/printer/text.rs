//! Characters: escapes, and which names need quotes.

/// `"..."` with every byte told apart; with `ascii` all others are escaped, else valid UTF-8 stays readable.
#[must_use]
pub fn escape_string(bytes: &[u8], ascii: bool) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                ' '..='~' => out.push(c),
                _ if c.is_control() || ascii => {
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        let _ = write!(out, "\\{byte:02X}");
                    }
                }
                _ => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\{byte:02X}");
        }
    }
    out.push('"');
    out
}

/// Whether a symbol can stand as `@name` without quotes, in MLIR too.
#[must_use]
pub fn is_bare_symbol(name: &str) -> bool {
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(head)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-'))
}

/// Whether an attribute or resource name can stand without quotes.
#[must_use]
pub fn is_bare_word(name: &str) -> bool {
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(head) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))
}
