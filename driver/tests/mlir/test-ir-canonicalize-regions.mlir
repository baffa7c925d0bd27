"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8xf16>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<4x8xf16>) -> tensor<8x4xf16>
    %1 = "test.loop"() ({
      %2 = "graph.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
      %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<4x8xf16>) -> tensor<8x4xf16>
      %4 = "graph.transpose"(%3) {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
      "test.yield"(%4) : (tensor<4x8xf16>) -> ()
    }) : () -> tensor<4x8xf16>
    "graph.return"(%1) : (tensor<4x8xf16>) -> ()
  }) {function_type = (tensor<4x8xf16>) -> tensor<4x8xf16>, sym_name = "main"} : () -> ()
}) : () -> ()

