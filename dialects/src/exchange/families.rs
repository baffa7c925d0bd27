//! Tables of numbers as families: finds the ids and the expressions that give a table back exactly.
//!
//! A family is row-major over its sizes. [`factor`] finds sizes over which all columns are affine, [`fit`] the
//! expression of one column; what no expression gives stays a table.

use std::sync::Arc;

use super::index::Index;
use crate::ipu::{AffineExpr, Family};
use crate::limits::MAX_FAMILY_MEMBERS;

/// Most ids of a family that [`factor`] makes.
const MAX_IDS: usize = 4;

/// The family of these sizes, with ids `i`, `j`, `k`, `l`; without ids for one member.
#[must_use]
pub fn family_of(sizes: &[u32]) -> Family {
    let names = ["i", "j", "k", "l", "m", "n"];
    let name = |at: usize| names.get(at).map_or_else(|| format!("i{at}"), |name| (*name).to_owned());
    Family { ids: (0..sizes.len()).map(name).map(Arc::from).collect(), sizes: sizes.to_vec() }
}

/// The expression in the ids of `sizes` whose value for member `i` is `values[i]`, for all members; `None` if it is not
/// affine, or there are not as many values as members.
#[must_use]
pub fn fit(values: &[i64], sizes: &[u32]) -> Option<AffineExpr> {
    let count: usize = sizes.iter().map(|&size| size as usize).product();
    let (&base, true) = (values.first()?, values.len() == count) else { return None };
    let mut coefficients = vec![0i64; sizes.len()];
    let mut stride = 1usize;
    for (coefficient, &size) in coefficients.iter_mut().zip(sizes).rev() {
        if size > 1 {
            *coefficient = values.get(stride)?.checked_sub(base)?;
        }
        stride *= size as usize;
    }
    let fits = values.iter().enumerate().all(|(member, &value)| {
        let mut rest = member;
        let mut sum = i128::from(base);
        for (&coefficient, &size) in coefficients.iter().zip(sizes).rev() {
            let size = size as usize;
            sum += i128::from(coefficient) * (rest % size) as i128;
            rest /= size;
        }
        sum == i128::from(value)
    });
    fits.then(|| expression(base, &coefficients)).flatten()
}

/// `2*i + 1 - j`: positive terms, the constant, negative terms.
fn expression(constant: i64, coefficients: &[i64]) -> Option<AffineExpr> {
    let mut sum: Option<AffineExpr> = None;
    let term = |at: usize, factor: i64| {
        let id = AffineExpr::id(u16::try_from(at).unwrap_or(u16::MAX));
        if factor == 1 { id } else { AffineExpr::constant(factor).times(&id) }
    };
    let mut add = |expression: AffineExpr| {
        sum = Some(match sum.take() {
            Some(sum) => sum.plus(&expression),
            None => expression,
        });
    };
    for (at, &factor) in coefficients.iter().enumerate().filter(|(_, factor)| **factor > 0) {
        add(term(at, factor));
    }
    if constant > 0 {
        add(AffineExpr::constant(constant));
    }
    let mut sum = sum.unwrap_or_else(|| AffineExpr::constant(0));
    if constant < 0 {
        sum = sum.minus(&AffineExpr::constant(constant.checked_neg()?));
    }
    for (at, &factor) in coefficients.iter().enumerate().filter(|(_, factor)| **factor < 0) {
        sum = sum.minus(&term(at, factor.checked_neg()?));
    }
    Some(sum.simplified())
}

/// The expression of `values`, or the table of them.
#[must_use]
pub fn fit_or_table(values: &[i64], sizes: &[u32]) -> Index {
    fit(values, sizes).map_or_else(|| Index::Table(values.into()), Index::Expression)
}

/// Sizes, outermost first, over which all columns are affine; `None` if there are none of up to four ids. Columns have
/// the same length, at least 1; of one row the sizes are empty.
#[must_use]
pub fn factor(columns: &[Vec<i64>]) -> Option<Vec<u32>> {
    let count = columns.first()?.len();
    if count as u64 > MAX_FAMILY_MEMBERS {
        return None;
    }
    let mut sizes = Vec::new();
    let mut stride = 1usize;
    while stride < count {
        if sizes.len() == MAX_IDS {
            return None;
        }
        let size = run_length(columns, stride, count);
        if !(count / stride).is_multiple_of(size) {
            return None;
        }
        sizes.insert(0, u32::try_from(size).ok()?);
        stride *= size;
    }
    let affine = columns.iter().all(|column| fit(column, &sizes).is_some());
    affine.then_some(sizes)
}

/// How many rows, `stride` apart from the first on, lie at equal distances in every column.
fn run_length(columns: &[Vec<i64>], stride: usize, count: usize) -> usize {
    let mut length = 2;
    while length * stride < count {
        let (last, before) = (length * stride, (length - 1) * stride);
        let even = columns
            .iter()
            .all(|column| column[last].checked_sub(column[before]) == column[stride].checked_sub(column[0]));
        if !even {
            break;
        }
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sizes: &[u32], value: impl Fn(&[i64]) -> i64) -> Vec<i64> {
        family_of(sizes).members().map(|ids| value(&ids)).collect()
    }

    #[test]
    fn an_affine_table_is_found_exactly() {
        let values = table(&[3, 2], |ids| 2 * ids[0] + 1 - ids[1]);
        let found = fit(&values, &[3, 2]).expect("it is affine");
        assert_eq!(found.display(&["m", "q"]), "2*m + 1 - q");
        let values = table(&[1, 4], |ids| 512 - 128 * ids[1]);
        assert_eq!(fit(&values, &[1, 4]).expect("it is affine").display(&["m", "q"]), "512 - 128*q");
        assert_eq!(fit(&[7], &[]).expect("one value").display::<&str>(&[]), "7");
    }

    #[test]
    fn what_is_not_affine_stays_a_table() {
        let values = [0, 3, 1, 2];
        assert_eq!(fit(&values, &[4]), None);
        assert_eq!(fit_or_table(&values, &[4]), Index::Table(values.to_vec().into()));
        assert_eq!(fit(&values, &[3]), None);
        assert_eq!(fit(&[0, i64::MAX, i64::MIN], &[3]), None);
    }

    #[test]
    fn sizes_are_found_from_the_columns() {
        for sizes in [vec![], vec![5], vec![2, 2], vec![4, 3, 2], vec![2, 3, 5, 7]] {
            let columns = [
                table(&sizes, |ids| ids.iter().zip([1000, 100, 10, 1]).map(|(id, by)| id * by).sum()),
                table(&sizes, |ids| ids.iter().zip([-1, 3, 8, -64]).map(|(id, by)| id * by).sum()),
            ];
            assert_eq!(factor(&columns), Some(sizes.clone()));
        }
        assert_eq!(factor(&[vec![0, 1, 1, 0, 1]]), None);
    }

    #[test]
    fn an_index_gives_its_table_back() {
        let values = table(&[4, 3], |ids| 96 * ids[0] - ids[1] + 5);
        let sizes = factor(std::slice::from_ref(&values)).expect("it is affine");
        assert_eq!(fit_or_table(&values, &sizes).values(&family_of(&sizes)), Ok(values));
    }
}
