"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x32xf32>, %arg1: tensor<32x16xf32>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f32, multiply = f32} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    "graph.return"(%0) : (tensor<4x16xf32>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.cycle<[1.0e30, 2.0]>, ipu.name = "a"}, {ipu.data = #ipu.cycle<[1.0e30]>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>, ipu.tiles = 2 : i64, res_attrs = [{ipu.name = "c"}], sym_name = "main"} : () -> ()
}) : () -> ()

