"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x64xf32>, %arg1: tensor<64x32xf32>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f32, multiply = f32} : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
    "graph.return"(%0) : (tensor<32x32xf32>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, ipu.kind = "input", ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>, ipu.tiles = 8 : i64, res_attrs = [{ipu.name = "c", ipu.tolerance = #ipu.tolerance<absolute = 1.0e-5, relative = 1.0e-5>}], sym_name = "main"} : () -> ()
}) : () -> ()

