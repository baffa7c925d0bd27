//! Behaviour of `graph` in text.

use crate::parser::{ParseOptions, parse_module};
use crate::printer::print_module;
use crate::registry::Registry;
use crate::verifier::{VerifyOptions, verify};

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
    assert!(verify(&module, VerifyOptions::default()).is_ok());
}

#[test]
fn every_op_prints_to_itself() {
    let text = r#"graph.func @main(%a: tensor<2x3xf32>) -> (tensor<6xf16>, tensor<2x2xf32>) {
  %k = graph.constant dense<1.5> : tensor<2x3xf32>
  %h = graph.cast %a : tensor<2x3xf32> -> tensor<2x3xf16>
  %t = graph.transpose %h permutation [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>
  %r = graph.reshape %t : tensor<3x2xf16> -> tensor<6xf16>
  %g = graph.gemm %a, %k transpose_right multiply(f32) accumulate(f32)
     : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  graph.return %r, %g : tensor<6xf16>, tensor<2x2xf32>
}
"#;
    let (module, diagnostics) = parse_module("ops.ir", text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "");
    assert_eq!(print_module(&module), text);
    let findings = verify(&module, VerifyOptions::default()).err().map(|found| found.render(&module.sources));
    assert_eq!(findings, None);
}
