"builtin.module"() ({
  "graph.func"() ({
  ^bb0(%arg0: tensor<64x32xf16>, %arg1: tensor<16x64xf32>):
    %0 = "graph.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<64x32xf16>) -> tensor<32x64xf16>
    %1 = "graph.transpose"(%arg1) {permutation = array<i64: 1, 0>} : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %2 = "graph.cast"(%1) : (tensor<64x16xf32>) -> tensor<64x16x!ipu.f143<-4>>
    %3 = "graph.gemm"(%0, %2) {accumulate = f16, multiply = !ipu.f143<-4>} : (tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>>) -> tensor<32x16xf16>
    "graph.return"(%3) : (tensor<32x16xf16>) -> ()
  }) {function_type = (tensor<64x32xf16>, tensor<16x64xf32>) -> tensor<32x16xf16>, sym_name = "main"} : () -> ()
}) : () -> ()

