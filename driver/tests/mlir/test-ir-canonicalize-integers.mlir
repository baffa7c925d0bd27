"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8xi8>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<4x8xi8>) -> tensor<8x4xi8>
    %1 = "graph.cast"(%0) : (tensor<8x4xi8>) -> tensor<8x4xi32>
    %2 = "graph.cast"(%1) : (tensor<8x4xi32>) -> tensor<8x4xi16>
    %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<8x4xi16>) -> tensor<4x8xi16>
    "graph.return"(%3) : (tensor<4x8xi16>) -> ()
  }) {function_type = (tensor<4x8xi8>) -> tensor<4x8xi16>, sym_name = "main"} : () -> ()
}) : () -> ()

