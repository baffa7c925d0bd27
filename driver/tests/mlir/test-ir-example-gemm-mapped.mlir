"builtin.module"() ({
  "mapped.func"() ({
  ^bb0(%arg2: tensor<32x64xf16, #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>, %arg3: tensor<64x16x!ipu.f143<-4>, #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>>):
    %1 = "mapped.convert_layout"(%arg2) : (tensor<32x64xf16, #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>) -> tensor<32x64xf16, #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<16>, memory = standard>>
    %2 = "mapped.cast"(%1) {kernel = @cast_f16_f143_panels} : (tensor<32x64xf16, #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<16>, memory = standard>>) -> tensor<32x64x!ipu.f143<-4>, #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<32>, memory = standard>>
    %3 = "mapped.gemm"(%2, %arg3) {block = array<i64: 16, 16, 32>, kernel = @gemm_f143_f16} : (tensor<32x64x!ipu.f143<-4>, #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<32>, memory = standard>>, tensor<64x16x!ipu.f143<-4>, #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>>) -> tensor<32x16xf16, #mapped.layout<split = [2, 1], partial = 2, tiles = (m, n, p) -> 2*m + p, order = amp_left<16>, memory = interleaved>>
    %4 = "mapped.reduce"(%3) {kernel = @reduce_add_f16, staging = "all"} : (tensor<32x16xf16, #mapped.layout<split = [2, 1], partial = 2, tiles = (m, n, p) -> 2*m + p, order = amp_left<16>, memory = interleaved>>) -> tensor<32x16xf16, #mapped.layout<split = [4, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = standard>>
    "mapped.return"(%4) : (tensor<32x16xf16, #mapped.layout<split = [4, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = standard>>) -> ()
  }) {arg_attrs = [{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, ipu.kind = "input", ipu.name = "a"}, {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, ipu.kind = "weight", ipu.name = "b"}], function_type = (tensor<32x64xf16, #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>, tensor<64x16x!ipu.f143<-4>, #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>>) -> tensor<32x16xf16, #mapped.layout<split = [4, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = standard>>, ipu.tiles = 4 : i64, res_attrs = [{ipu.name = "c", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}], sym_name = "main"} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x64xf16>, %arg1: tensor<64x16x!ipu.f143<-4>>):
    %0 = "graph.gemm"(%arg0, %arg1) : (tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>>) -> tensor<32x16xf16>
    "graph.return"(%0) : (tensor<32x16xf16>) -> ()
  }) {function_type = (tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>>) -> tensor<32x16xf16>, sym_name = "reference"} : () -> ()
}) : () -> ()

