"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x64xf16>, %arg1: tensor<64x16xf16>):
    %0 = "graph.constant"() {value = dense<1.000000e+00> : tensor<2xf16>} : () -> tensor<2xf16>
    %1 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
    %2 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
    %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<32x16xf16>) -> tensor<16x32xf16>
    %4 = "graph.cast"(%1) : (tensor<32x16xf16>) -> tensor<32x16xf32>
    %5 = "graph.cast"(%2) : (tensor<32x16xf16>) -> tensor<32x16xf32>
    "graph.return"(%4, %5) : (tensor<32x16xf32>, tensor<32x16xf32>) -> ()
  }) {function_type = (tensor<32x64xf16>, tensor<64x16xf16>) -> (tensor<32x16xf32>, tensor<32x16xf32>), sym_name = "main"} : () -> ()
}) : () -> ()

