//! Ops that have as little as an op of a program has.

use std::io::Result;

use super::Text;

/// How far back an operand may lie.
const REACH: u64 = 64;

pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    text.op(format_args!("%0 = \"acme.start\"() {{value = 0 : i64}} : () -> i64"))?;
    for index in 1.. {
        if !text.wants_more(0) {
            break;
        }
        let (near, far) = (index - 1, index - 1 - text.below(REACH.min(index)));
        text.op(format_args!(
            "%{index} = \"acme.step\"(%{near}, %{far}) {{value = {index} : i64}} : (i64, i64) -> i64"
        ))?;
    }
    Ok(())
}
