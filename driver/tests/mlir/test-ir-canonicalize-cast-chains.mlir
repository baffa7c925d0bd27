"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x8x!ipu.f143<-4>>, %arg1: tensor<4x8x!ipu.f143<9>>, %arg2: tensor<4x8xf16>, %arg3: tensor<4x8xf32>):
    %0 = "graph.cast"(%arg0) : (tensor<4x8x!ipu.f143<-4>>) -> tensor<4x8xf16>
    %1 = "graph.cast"(%0) : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %2 = "graph.cast"(%arg1) : (tensor<4x8x!ipu.f143<9>>) -> tensor<4x8xf16>
    %3 = "graph.cast"(%2) : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %4 = "graph.cast"(%arg2) : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %5 = "graph.cast"(%4) : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %6 = "graph.cast"(%arg3) : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %7 = "graph.cast"(%6) : (tensor<4x8xf16>) -> tensor<4x8xf32>
    "graph.return"(%1, %3, %5, %7) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>) -> ()
  }) {function_type = (tensor<4x8x!ipu.f143<-4>>, tensor<4x8x!ipu.f143<9>>, tensor<4x8xf16>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>), sym_name = "main"} : () -> ()
}) : () -> ()

