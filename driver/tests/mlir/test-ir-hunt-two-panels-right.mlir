"builtin.module"() ({
  "mapped.func"() ({
  ^bb0(%arg2: tensor<2x32xf16, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>, %arg3: tensor<32x16x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (k, n) -> k, order = amp_right<32>, memory = standard>>):
    %2 = "mapped.cast"(%arg2) {kernel = @cast_f16_f143_flat} : (tensor<2x32xf16, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>) -> tensor<2x32x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>
    %3 = "mapped.convert_layout"(%2) : (tensor<2x32x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>) -> tensor<2x32x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<32>, memory = standard>>
    %4 = "mapped.gemm"(%3, %arg3) {block = array<i64: 2, 16, 32>, kernel = @gemm_f143_f16} : (tensor<2x32x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<32>, memory = standard>>, tensor<32x16x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (k, n) -> k, order = amp_right<32>, memory = standard>>) -> tensor<2x16xf16, #mapped.layout<split = [1, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = interleaved>>
    "mapped.return"(%4) : (tensor<2x16xf16, #mapped.layout<split = [1, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = interleaved>>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 1.0>}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>}], function_type = (tensor<2x32xf16, #mapped.layout<split = [1, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>, tensor<32x16x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (k, n) -> k, order = amp_right<32>, memory = standard>>) -> tensor<2x16xf16, #mapped.layout<split = [1, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = interleaved>>, sym_name = "main"} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x32xf16>, %arg1: tensor<32x16x!ipu.f143<-4>>):
    %0 = "graph.cast"(%arg0) : (tensor<2x32xf16>) -> tensor<2x32x!ipu.f143<-4>>
    %1 = "graph.gemm"(%0, %arg1) : (tensor<2x32x!ipu.f143<-4>>, tensor<32x16x!ipu.f143<-4>>) -> tensor<2x16xf16>
    "graph.return"(%1) : (tensor<2x16xf16>) -> ()
  }) {function_type = (tensor<2x32xf16>, tensor<32x16x!ipu.f143<-4>>) -> tensor<2x16xf16>, sym_name = "reference"} : () -> ()
}) : () -> ()

