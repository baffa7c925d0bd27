"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<16x16xf16>, %arg1: tensor<16x16xf16>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<16x16xf16>) -> tensor<16x16xf16>
    %1 = "graph.gemm"(%arg0, %arg1) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
    "graph.return"(%0, %1) : (tensor<16x16xf16>, tensor<16x16xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.iota, ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.25>, ipu.name = "b"}], function_type = (tensor<16x16xf16>, tensor<16x16xf16>) -> (tensor<16x16xf16>, tensor<16x16xf16>), res_attrs = [{ipu.name = "t"}, {ipu.name = "c"}], sym_name = "main"} : () -> ()
}) : () -> ()

