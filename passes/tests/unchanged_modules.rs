//! Passes that state that they leave the module as it was do, so that it need not be verified again.

use crate::pass_runs::{parse, printed, run};

#[test]
fn a_pass_that_has_nothing_to_do_leaves_the_text_to_the_byte() {
    let tile = include_str!("../../test-ir/example/gemm-tile.ir");
    let exchange = include_str!("../../test-ir/example/gemm-exchange.ir");
    let cases = [
        ("emit-tile-code", "build-package", tile),
        ("emit-tile-code", "emit-tile-code", tile),
        ("optimize-exchanges", "optimize-exchanges", exchange),
        ("optimize-exchange-placement", "optimize-exchange-placement", exchange),
    ];
    for (first, then, text) in cases {
        let mut module = parse(then, text);
        let done = run(&mut module, first);
        assert!(done.failure.is_none(), "{first}: {}", done.diagnostics.render(&module.sources));
        let before = printed(&module);
        let done = run(&mut module, then);
        assert!(done.failure.is_none(), "{then}: {}", done.diagnostics.render(&module.sources));
        assert_eq!(printed(&module), before, "{then}");
    }
}
