"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<256x256xf16>, %arg1: tensor<256x256xf16>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<256x256xf16>) -> tensor<256x256xf16>
    %1 = "graph.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<256x256xf16>) -> tensor<256x256xf16>
    %2 = "graph.cast"(%arg1) : (tensor<256x256xf16>) -> tensor<256x256xf32>
    %3 = "graph.cast"(%2) : (tensor<256x256xf32>) -> tensor<256x256xf16>
    %4 = "graph.gemm"(%1, %3) {accumulate = f16, multiply = !ipu.f143<-4>} : (tensor<256x256xf16>, tensor<256x256xf16>) -> tensor<256x256xf16>
    "graph.return"(%4) : (tensor<256x256xf16>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 11, sigma = 0.25>, ipu.kind = "input", ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 12, sigma = 0.125>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<256x256xf16>, tensor<256x256xf16>) -> tensor<256x256xf16>, ipu.tiles = 1472 : i64, res_attrs = [{ipu.name = "c", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}], sym_name = "main"} : () -> ()
}) : () -> ()

