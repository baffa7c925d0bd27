"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8xf16>, %arg1: tensor<1x8x1xf16>):
    %0 = "graph.reshape"(%arg0) : (tensor<4x8xf16>) -> tensor<2x2x8xf16>
    %1 = "graph.reshape"(%0) : (tensor<2x2x8xf16>) -> tensor<32xf16>
    %2 = "graph.reshape"(%1) : (tensor<32xf16>) -> tensor<4x8xf16>
    %3 = "graph.transpose"(%arg1) {permutation = array<i64: 1, 2, 0>} : (tensor<1x8x1xf16>) -> tensor<8x1x1xf16>
    "graph.return"(%1, %2, %3) : (tensor<32xf16>, tensor<4x8xf16>, tensor<8x1x1xf16>) -> ()
  }) {function_type = (tensor<4x8xf16>, tensor<1x8x1xf16>) -> (tensor<32xf16>, tensor<4x8xf16>, tensor<8x1x1xf16>), sym_name = "main"} : () -> ()
}) : () -> ()

