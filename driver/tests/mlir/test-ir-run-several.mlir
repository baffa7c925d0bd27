"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg2: tensor<1x2xf16>, %arg3: tensor<2x1xf16>):
    %3 = "graph.gemm"(%arg2, %arg3) : (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16>
    "graph.return"(%3) : (tensor<1x1xf16>) -> ()
  }) {function_type = (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16>, res_attrs = [{ipu.tolerance = #ipu.tolerance<absolute = 0.001, relative = 0.0>}], sym_name = "product"} : () -> ()
  "graph.func"() ({
  ^bb0(%arg1: tensor<4xf32>):
    %2 = "graph.cast"(%arg1) : (tensor<4xf32>) -> tensor<4xf16>
    "graph.return"(%2) : (tensor<4xf16>) -> ()
  }) {function_type = (tensor<4xf32>) -> tensor<4xf16>, sym_name = "round"} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<1x3x!ipu.f143<-4>>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<1x3x!ipu.f143<-4>>) -> tensor<3x1x!ipu.f143<-4>>
    %1 = "graph.cast"(%arg0) : (tensor<1x3x!ipu.f143<-4>>) -> tensor<1x3xf16>
    "graph.return"(%0, %1) : (tensor<3x1x!ipu.f143<-4>>, tensor<1x3xf16>) -> ()
  }) {function_type = (tensor<1x3x!ipu.f143<-4>>) -> (tensor<3x1x!ipu.f143<-4>>, tensor<1x3xf16>), sym_name = "both"} : () -> ()
}) : () -> ()

