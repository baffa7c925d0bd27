"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8x!ipu.f143<0>>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %1 = "graph.cast"(%0) : (tensor<8x4xf32>) -> tensor<8x4xf16>
    %2 = "graph.cast"(%arg1) : (tensor<4x8x!ipu.f143<0>>) -> tensor<4x8xf32>
    %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    "graph.return"(%1, %3) : (tensor<8x4xf16>, tensor<8x4xf32>) -> ()
  }) {function_type = (tensor<4x8xf32>, tensor<4x8x!ipu.f143<0>>) -> (tensor<8x4xf16>, tensor<8x4xf32>), sym_name = "main"} : () -> ()
}) : () -> ()

