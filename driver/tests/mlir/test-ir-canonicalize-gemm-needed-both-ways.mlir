"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x64xf16>, %arg1: tensor<64x16xf16>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
    %1 = "graph.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<32x16xf16>) -> tensor<16x32xf16>
    "graph.return"(%0, %1) : (tensor<32x16xf16>, tensor<16x32xf16>) -> ()
  }) {function_type = (tensor<32x64xf16>, tensor<64x16xf16>) -> (tensor<32x16xf16>, tensor<16x32xf16>), sym_name = "main"} : () -> ()
}) : () -> ()

