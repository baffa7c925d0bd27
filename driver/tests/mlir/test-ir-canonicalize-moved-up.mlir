"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8x!ipu.f143<0>>):
    %0 = "graph.cast"(%arg0) : (tensor<4x8x!ipu.f143<0>>) -> tensor<4x8xf16>
    %1 = "graph.cast"(%0) : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %2 = "graph.transpose"(%1) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %3 = "test.use"(%2) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %4 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<4x8x!ipu.f143<0>>) -> tensor<8x4x!ipu.f143<0>>
    %5 = "graph.cast"(%4) : (tensor<8x4x!ipu.f143<0>>) -> tensor<8x4xf32>
    "graph.return"(%3, %5) : (tensor<8x4xf32>, tensor<8x4xf32>) -> ()
  }) {function_type = (tensor<4x8x!ipu.f143<0>>) -> (tensor<8x4xf32>, tensor<8x4xf32>), sym_name = "main"} : () -> ()
}) : () -> ()

