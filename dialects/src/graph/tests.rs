//! Behaviour of `graph` in text.

use crate::parser::{ParseOptions, parse_module};
use crate::printer::print_module;
use crate::registry::Registry;

const EXAMPLE: &str = r#"graph.func @main(%a: tensor<32x64xf16> {ipu.kind = "input", ipu.data = #ipu.normal<seed = 1, sigma = 0.25>},
                 %b: tensor<64x16x!ipu.f143<-4>> {ipu.kind = "weight", ipu.data = #ipu.normal<seed = 2, sigma = 0.125>}) -> tensor<32x16xf16> {
  %c = graph.gemm %a, %b multiply(!ipu.f143<-4>) accumulate(f16)
     : tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>> -> tensor<32x16xf16>
  graph.return %c : tensor<32x16xf16>
}
"#;

#[test]
fn the_example_prints_to_itself() {
    let (module, diagnostics) = parse_module("gemm.ir", EXAMPLE, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "");
    assert_eq!(print_module(&module), EXAMPLE);
}
