"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x32xf16>, %arg1: tensor<32x32xf16>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<32x32xf16>) -> tensor<32x32xf16>
    %1 = "graph.gemm"(%0, %arg1) : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
    "graph.return"(%1) : (tensor<32x32xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.25>, ipu.name = "b"}], function_type = (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>, res_attrs = [{ipu.name = "c"}], sym_name = "main"} : () -> ()
}) : () -> ()

