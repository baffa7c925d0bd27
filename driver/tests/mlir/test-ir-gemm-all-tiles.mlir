"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<736x128xf16>, %arg1: tensor<128x128xf16>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<736x128xf16>, tensor<128x128xf16>) -> tensor<736x128xf16>
    "graph.return"(%0) : (tensor<736x128xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, ipu.kind = "input", ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<736x128xf16>, tensor<128x128xf16>) -> tensor<736x128xf16>, ipu.tiles = 1472 : i64, res_attrs = [{ipu.name = "c", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}], sym_name = "main"} : () -> ()
}) : () -> ()

