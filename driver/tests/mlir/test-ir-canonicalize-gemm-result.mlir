"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<3x32x64xf16>, %arg1: tensor<3x64x16xf16>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f32, multiply = f16} : (tensor<3x32x64xf16>, tensor<3x64x16xf16>) -> tensor<3x32x16xf16>
    %1 = "graph.transpose"(%0) {permutation = array<i64: 0, 2, 1>} : (tensor<3x32x16xf16>) -> tensor<3x16x32xf16>
    "graph.return"(%1) : (tensor<3x16x32xf16>) -> ()
  }) {function_type = (tensor<3x32x64xf16>, tensor<3x64x16xf16>) -> tensor<3x16x32xf16>, sym_name = "main"} : () -> ()
}) : () -> ()

