"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<8x16xf16>, %arg1: tensor<16x16xf16>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
    "graph.return"(%0) : (tensor<8x16xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.cycle<[1.0, 0x7C00 : f16, -2.0, 0.5, 0x7E00 : f16, 0.25, -0.0]>, ipu.kind = "input", ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>, ipu.tiles = 4 : i64, res_attrs = [{ipu.name = "c", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}], sym_name = "main"} : () -> ()
}) : () -> ()

