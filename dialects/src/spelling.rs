//! "Did you mean": the nearest of some known words.

/// Words that are compared at most: a text with a million names and a hundred misspelt ones is still read at once.
pub(crate) const MOST_KNOWN: usize = 1 << 13;

/// The word of `known` that differs least from `word`, if it is near enough to be meant. Where more than 8,192 words are
/// known, as in a generated text, none is said.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1);
    let mut known = known.into_iter();
    let first: Vec<&str> = known.by_ref().take(MOST_KNOWN).collect();
    if known.next().is_some() {
        return None;
    }
    // A change of one character adds or takes at most 4 bytes.
    let as_long = |candidate: &str| candidate.len().abs_diff(word.len()) <= 4 * limit;
    first
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST && as_long(candidate) && *candidate != word)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance: insertions, deletions, changes and swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b;
            if swapped {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("gmem", ["gemm", "cast"]), Some("gemm"));
        assert_eq!(nearest("graph.gem", ["graph.gemm", "graph.cast"]), Some("graph.gemm"));
        assert_eq!(nearest("softmax", ["gemm", "cast"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("abc", ["abcdefg", "äbc"]), Some("äbc"));
    }

    #[test]
    fn of_too_many_words_none_is_said() {
        let words = vec!["gemm"; MOST_KNOWN];
        assert_eq!(nearest("gmem", words.iter().copied()), Some("gemm"));
        assert_eq!(nearest("gmem", words.iter().copied().chain(["cast"])), None);
    }
}
