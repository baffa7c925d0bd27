"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<16x32xf16>, %arg1: tensor<32x16xf16>):
    %0 = "graph.cast"(%arg0) : (tensor<16x32xf16>) -> tensor<16x32x!ipu.f143<-4>>
    %1 = "graph.cast"(%0) : (tensor<16x32x!ipu.f143<-4>>) -> tensor<16x32xf16>
    %2 = "graph.gemm"(%1, %arg1) : (tensor<16x32xf16>, tensor<32x16xf16>) -> tensor<16x16xf16>
    "graph.return"(%2) : (tensor<16x16xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.25>, ipu.name = "b"}], function_type = (tensor<16x32xf16>, tensor<32x16xf16>) -> tensor<16x16xf16>, res_attrs = [{ipu.name = "c"}], sym_name = "main"} : () -> ()
}) : () -> ()

