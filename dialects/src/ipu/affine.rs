//! Index expressions over the ids of a family: `2*m + 1 - q`, `512*(t mod 2)`.
//!
//! An expression is a flat postfix program, so evaluation, printing and drop never recurse. Ids are positions;
//! their names belong to the family and are given when printing. Evaluation is checked: an overflow is an
//! error, never a wrapped value. `floordiv` and `mod` round toward minus infinity and take a positive literal.

use std::fmt;

/// One step of the postfix program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Step {
    Constant(i64),
    Id(u16),
    Add,
    Subtract,
    Multiply,
    /// Divide by a positive literal, rounding down.
    FloorDivide(i64),
    /// Remainder in `0..literal`.
    Modulo(i64),
}

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffineError {
    /// An intermediate value does not fit 64 bits.
    Overflow,
    /// The expression names id number `.0`, which the family does not have.
    UnknownId(u16),
}

impl fmt::Display for AffineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => write!(f, "the value of the expression does not fit 64 bits"),
            Self::UnknownId(id) => {
                write!(f, "the expression uses id number {id}, which its family does not have")
            }
        }
    }
}

impl std::error::Error for AffineError {}

/// An index expression over numbered ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AffineExpr {
    steps: Vec<Step>,
}

impl AffineExpr {
    /// The literal `value`.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self { steps: vec![Step::Constant(value)] }
    }

    /// The id at position `index` of the family.
    #[must_use]
    pub fn id(index: u16) -> Self {
        Self { steps: vec![Step::Id(index)] }
    }

    /// The literal value, if the expression is a literal.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        match self.steps.as_slice() {
            [Step::Constant(value)] => Some(*value),
            _ => None,
        }
    }

    /// The position of the id, if the expression is a bare id.
    #[must_use]
    pub fn as_id(&self) -> Option<u16> {
        match self.steps.as_slice() {
            [Step::Id(id)] => Some(*id),
            _ => None,
        }
    }

    fn then(mut self, right: &Self, step: Step) -> Self {
        self.steps.extend_from_slice(&right.steps);
        self.steps.push(step);
        self
    }

    /// `self + other`, as written.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        self.then(other, Step::Add)
    }

    /// `self - other`, as written.
    #[must_use]
    pub fn minus(self, other: &Self) -> Self {
        self.then(other, Step::Subtract)
    }

    /// `self * other`, as written.
    #[must_use]
    pub fn times(self, other: &Self) -> Self {
        self.then(other, Step::Multiply)
    }

    /// `self floordiv divisor`; `None` unless the divisor is positive.
    #[must_use]
    pub fn floor_divided_by(mut self, divisor: i64) -> Option<Self> {
        (divisor > 0).then(|| {
            self.steps.push(Step::FloorDivide(divisor));
            self
        })
    }

    /// `self mod divisor`; `None` unless the divisor is positive.
    #[must_use]
    pub fn modulo(mut self, divisor: i64) -> Option<Self> {
        (divisor > 0).then(|| {
            self.steps.push(Step::Modulo(divisor));
            self
        })
    }

    /// Number of ids the expression needs: one more than the greatest position it names.
    #[must_use]
    pub fn id_count(&self) -> usize {
        let position = |step: &Step| if let Step::Id(id) = step { usize::from(*id) + 1 } else { 0 };
        self.steps.iter().map(position).max().unwrap_or(0)
    }

    /// The value for the given ids.
    ///
    /// # Errors
    /// An intermediate value leaves 64 bits, or an id is missing.
    pub fn evaluate(&self, ids: &[i64]) -> Result<i64, AffineError> {
        self.evaluate_with(ids, &mut Vec::with_capacity(8))
    }

    /// As [`evaluate`](Self::evaluate), on a stack that many evaluations share.
    ///
    /// # Errors
    /// An intermediate value leaves 64 bits, or an id is missing.
    pub fn evaluate_with(&self, ids: &[i64], stack: &mut Vec<i64>) -> Result<i64, AffineError> {
        stack.clear();
        for step in &self.steps {
            let value = match *step {
                Step::Constant(value) => Some(value),
                Step::Id(id) => Some(*ids.get(usize::from(id)).ok_or(AffineError::UnknownId(id))?),
                Step::FloorDivide(divisor) => pop(stack).checked_div_euclid(divisor),
                Step::Modulo(divisor) => pop(stack).checked_rem_euclid(divisor),
                Step::Add | Step::Subtract | Step::Multiply => {
                    let (right, left) = (pop(stack), pop(stack));
                    apply(*step, left, right)
                }
            };
            stack.push(value.ok_or(AffineError::Overflow)?);
        }
        Ok(pop(stack))
    }

    /// An equal expression with literals folded and the neutral terms `+ 0`, `* 1`, `* 0`, `floordiv 1`,
    /// `mod 1` gone. An overflowing literal operation is left for [`evaluate`](Self::evaluate) to report.
    #[must_use]
    pub fn simplified(&self) -> Self {
        let mut stack: Vec<Self> = Vec::new();
        for step in &self.steps {
            let next = match *step {
                Step::Constant(_) | Step::Id(_) => Self { steps: vec![*step] },
                Step::FloorDivide(_) | Step::Modulo(_) => {
                    simplify_division(pop_expression(&mut stack), *step)
                }
                Step::Add | Step::Subtract | Step::Multiply => {
                    let (right, left) = (pop_expression(&mut stack), pop_expression(&mut stack));
                    simplify_binary(left, right, *step)
                }
            };
            stack.push(next);
        }
        pop_expression(&mut stack)
    }

    /// The expression in text, with the ids named by `names`; an id without a name prints as `id<n>`.
    #[must_use]
    pub fn display<N: AsRef<str>>(&self, names: &[N]) -> String {
        let mut stack: Vec<(String, u8)> = Vec::new();
        for step in &self.steps {
            let next = match *step {
                Step::Constant(value) => (value.to_string(), if value < 0 { UNARY } else { ATOM }),
                Step::Id(id) => (
                    names.get(usize::from(id)).map_or_else(|| format!("id{id}"), |n| n.as_ref().to_owned()),
                    ATOM,
                ),
                Step::FloorDivide(divisor) => {
                    (format!("{} floordiv {divisor}", wrapped(stack.pop(), PRODUCT)), PRODUCT)
                }
                Step::Modulo(divisor) => {
                    (format!("{} mod {divisor}", wrapped(stack.pop(), PRODUCT)), PRODUCT)
                }
                Step::Add => join(&mut stack, " + ", SUM, PRODUCT),
                Step::Subtract => join(&mut stack, " - ", SUM, PRODUCT),
                Step::Multiply => join(&mut stack, "*", PRODUCT, UNARY),
            };
            stack.push(next);
        }
        wrapped(stack.pop(), SUM)
    }
}

const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const UNARY: u8 = 2;
const ATOM: u8 = 3;

fn wrapped(operand: Option<(String, u8)>, least: u8) -> String {
    let (text, binding) = operand.unwrap_or_default();
    if binding < least { format!("({text})") } else { text }
}

fn join(stack: &mut Vec<(String, u8)>, operator: &str, binding: u8, right_least: u8) -> (String, u8) {
    let (right, left) = (stack.pop(), stack.pop());
    (format!("{}{operator}{}", wrapped(left, binding), wrapped(right, right_least)), binding)
}

/// The constructors keep the program balanced, so a missing operand cannot occur; 0 keeps this total.
fn pop(stack: &mut Vec<i64>) -> i64 {
    stack.pop().unwrap_or(0)
}

fn pop_expression(stack: &mut Vec<AffineExpr>) -> AffineExpr {
    stack.pop().unwrap_or_else(|| AffineExpr::constant(0))
}

fn apply(step: Step, left: i64, right: i64) -> Option<i64> {
    match step {
        Step::Add => left.checked_add(right),
        Step::Subtract => left.checked_sub(right),
        Step::Multiply => left.checked_mul(right),
        _ => None,
    }
}

fn simplify_binary(left: AffineExpr, right: AffineExpr, step: Step) -> AffineExpr {
    match (left.as_constant(), right.as_constant(), step) {
        (Some(a), Some(b), _) => match apply(step, a, b) {
            Some(value) => AffineExpr::constant(value),
            None => left.then(&right, step),
        },
        (_, Some(0), Step::Add | Step::Subtract) | (_, Some(1), Step::Multiply) => left,
        (Some(0), _, Step::Add) | (Some(1), _, Step::Multiply) => right,
        (Some(0), _, Step::Multiply) | (_, Some(0), Step::Multiply) => AffineExpr::constant(0),
        _ => left.then(&right, step),
    }
}

fn simplify_division(mut operand: AffineExpr, step: Step) -> AffineExpr {
    let folded = match (step, operand.as_constant()) {
        (Step::FloorDivide(divisor), Some(value)) => value.checked_div_euclid(divisor),
        (Step::Modulo(divisor), Some(value)) => value.checked_rem_euclid(divisor),
        _ => None,
    };
    match (folded, step) {
        (Some(value), _) => AffineExpr::constant(value),
        (None, Step::FloorDivide(1)) => operand,
        (None, Step::Modulo(1)) => AffineExpr::constant(0),
        (None, _) => {
            operand.steps.push(step);
            operand
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: u16) -> AffineExpr {
        AffineExpr::id(index)
    }

    fn constant(value: i64) -> AffineExpr {
        AffineExpr::constant(value)
    }

    #[test]
    fn evaluates_like_plain_arithmetic() {
        let expr = constant(2).times(&id(0)).plus(&constant(1)).minus(&id(1));
        for m in -3..4 {
            for q in -3..4 {
                assert_eq!(expr.evaluate(&[m, q]), Ok(2 * m + 1 - q));
            }
        }
        let halves = id(0).floor_divided_by(2).expect("positive");
        let odd = id(0).modulo(2).expect("positive");
        assert_eq!((halves.evaluate(&[-3]), odd.evaluate(&[-3])), (Ok(-2), Ok(1)));
    }

    #[test]
    fn overflow_and_missing_ids_are_errors() {
        assert_eq!(constant(i64::MAX).plus(&constant(1)).evaluate(&[]), Err(AffineError::Overflow));
        assert_eq!(id(1).evaluate(&[0]), Err(AffineError::UnknownId(1)));
        assert_eq!(id(0).modulo(0), None);
    }

    #[test]
    fn prints_only_the_parentheses_that_matter() {
        let names = ["m", "q"];
        assert_eq!(constant(2).times(&id(0)).plus(&id(1)).display(&names), "2*m + q");
        assert_eq!(id(0).minus(&id(1).plus(&constant(1))).display(&names), "m - (q + 1)");
        assert_eq!(constant(2).times(&id(0).plus(&id(1))).display(&names), "2*(m + q)");
        assert_eq!(constant(512).times(&id(0).modulo(2).expect("positive")).display(&names), "512*(m mod 2)");
        assert_eq!(id(0).plus(&constant(-1)).display(&names), "m + -1");
    }

    #[test]
    fn simplification_keeps_the_value() {
        let expr =
            constant(1).times(&id(0)).plus(&constant(3).minus(&constant(3))).plus(&constant(0).times(&id(1)));
        assert_eq!(expr.simplified(), id(0));
        assert_eq!(expr.evaluate(&[7, 9]), expr.simplified().evaluate(&[7, 9]));
    }

    #[test]
    fn a_long_chain_evaluates_prints_and_drops_without_recursion() {
        let mut steps = vec![Step::Constant(0)];
        for _ in 0..200_000 {
            steps.extend([Step::Constant(1), Step::Add]);
        }
        let expr = AffineExpr { steps };
        assert_eq!(expr.evaluate(&[]), Ok(200_000));
        assert_eq!(expr.simplified(), constant(200_000));
    }
}
