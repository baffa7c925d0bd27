//! Failing inputs made small: pieces go as long as the input fails the same way.

/// Most inputs that are tried.
const TRIES: usize = 4000;

/// A part of `input`, as small as leaving out pieces makes it, that `fails` still.
pub(super) fn shrink(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut size = bytes.len() / 2;
    let mut tries = 0;
    while size > 0 {
        let mut start = 0;
        while start < bytes.len() && tries < TRIES {
            let mut less = bytes.clone();
            less.drain(start..(start + size).min(bytes.len()));
            tries += 1;
            if fails(&less) {
                bytes = less;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_is_left() {
        let input = b"some text (that is) not wrong";
        let fails = |bytes: &[u8]| bytes.contains(&b'(') && bytes.ends_with(b"wrong");
        assert_eq!(shrink(input, fails), b"(wrong");
    }
}
