//! What passes say, if asked, about what they did not do and why.

use crate::pass_runs::{parse, printed, run};
use ipu_passes::manager::{Artifacts, ManagerOptions, Pipeline, ResolvedPipeline, Silent, registry};

/// The remarks of `pipeline` on `text`, each as its code, message and notes.
fn remarks(text: &str, pipeline: &str) -> String {
    let mut module = parse("main.ir", text);
    let parsed = Pipeline::parse(pipeline).unwrap();
    let span = module.span(module.root());
    let resolved = ResolvedPipeline::new(&parsed, |_| span).unwrap_or_else(|_| panic!("{pipeline}"));
    let wanted = registry::all().iter().map(|info| info.name).collect();
    let options = ManagerOptions { remarks: wanted, ..ManagerOptions::default() };
    let done = resolved.run(&mut module, &options, Artifacts::default(), &mut Silent);
    assert!(done.failure.is_none(), "{}", done.diagnostics.render(&module.sources));
    let mut silent = parse("main.ir", text);
    let without = run(&mut silent, pipeline);
    assert_eq!(printed(&silent), printed(&module), "asking changes nothing");
    assert_eq!(without.remarks.iter().count(), 0, "nobody asked");
    let line = |remark: &ipu_dialects::diagnostics::Diagnostic| {
        format!("{} {}: {}\n", remark.code, remark.message, remark.notes.join("; "))
    };
    done.remarks.iter().map(line).collect()
}

/// A program on four tiles: `%x` is loaded, `%y` is stored, `%z` is between.
fn program(steps: &str) -> String {
    let buffers: String = ["x", "y", "z"]
        .map(|name| {
            format!("  %{name} = exchange.buffer \"{name}\" : 64 bytes {{memory = standard, align = 32}}\n")
        })
        .concat();
    format!(
        "exchange.program @main on [0:4] {{
  exchange.binding @x input : tensor<256xui8>
  exchange.binding @y output : tensor<256xui8>
{buffers}  exchange.load_host @x -> %x (t) in (4) on t image [64*t : +64]
{steps}
  exchange.store_host %y -> @y (t) in (4) on t image [64*t : +64]
}}
"
    )
}

#[test]
fn phases_that_depend_on_each_other_say_on_what() {
    let text = program(
        "exchange.phase @first {
    exchange.copy (t) in (4) : %x[0 : +64] from t to [(t + 1) mod 4] into %z[0 : +64]
  }
  exchange.phase @second {
    exchange.copy (t) in (4) : %z[0 : +64] from t to [(t + 1) mod 4] into %y[0 : +64]
  }",
    );
    insta::assert_snapshot!(remarks(&text, "optimize-exchanges"));
}

#[test]
fn a_tile_that_wants_words_twice_gets_them_twice() {
    let text = program(
        "exchange.phase @twice {
    exchange.copy (t) in (1) : %x[0 : +32] from t to [1] into %y[0 : +32]
    exchange.copy (t) in (1) : %x[0 : +32] from t to [1] into %y[32 : +32]
  }",
    );
    insta::assert_snapshot!(remarks(&text, "optimize-exchanges"));
}

#[test]
fn a_placement_that_need_not_change_says_so() {
    let text = include_str!("../../test-ir/example/gemm-mapped.ir");
    let passes = "expand-plans,schedule-exchanges,place-storage,optimize-exchange-placement";
    insta::assert_snapshot!(remarks(text, passes));
}

#[test]
fn storage_that_does_not_move_says_what_stands_against_it() {
    let text = include_str!("../../test-ir/exchange-cases/point_to_point_0_to_1286_3w.ir");
    insta::assert_snapshot!(remarks(text, "optimize-exchange-placement"));
}

#[test]
fn plans_that_are_not_chosen_say_what_they_cost_more() {
    let text = include_str!("../../test-ir/seed/gemm_f8.ir");
    insta::assert_snapshot!(remarks(text, "select-plans"));
}
