"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x4xf16>, %arg1: tensor<4x2xf16>):
    %0 = "graph.gemm"(%arg0, %arg1) {accumulate = f16, multiply = f16} : (tensor<2x4xf16>, tensor<4x2xf16>) -> tensor<2x2xf16>
    "graph.return"(%0) : (tensor<2x2xf16>) -> ()
  }) {arg_attrs = [{}, {ipu.kind = "weight"}], function_type = (tensor<2x4xf16>, tensor<4x2xf16>) -> tensor<2x2xf16>, ipu.tiles = 2 : i64, sym_name = "main"} : () -> ()
}) : () -> ()

