"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.normal<seed = 1, sigma = 0.25>, kind = "input", sym_name = "a", tensor = tensor<32x64xf16, #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, kind = "weight", sym_name = "b", tensor = tensor<64x16x!ipu.f143<-4>, #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>, kind = "output", sym_name = "c", tensor = tensor<32x16xf16, #mapped.layout<split = [4, 1], tiles = (m, n) -> m, order = amp_left<16>, memory = standard>>} : () -> ()
    %1 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x60000>, bytes = 1024 : i64, memory = "standard", name = "a.home"} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x64000>, bytes = 1024 : i64, memory = "standard", name = "a.block"} : () -> !exchange.buffer
    %3 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x68000>, bytes = 512 : i64, memory = "standard", name = "a8.block", tail = 8 : i64} : () -> !exchange.buffer
    %4 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x68220>, bytes = 512 : i64, memory = "standard", name = "b8"} : () -> !exchange.buffer
    %5 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x80000>, bytes = 512 : i64, memory = "interleaved", name = "c.partial"} : () -> !exchange.buffer
    %6 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x64000>, bytes = 256 : i64, memory = "standard", name = "c.remote"} : () -> !exchange.buffer
    %7 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x6c000>, bytes = 256 : i64, memory = "standard", name = "c.home"} : () -> !exchange.buffer
    "exchange.load_host"(%4) {binding = @b, family = #exchange.moves<(t) in (4), on = t, slice = whole, image = [512*(t mod 2) : +512]>, once} : (!exchange.buffer) -> ()
    "exchange.load_host"(%1) {binding = @a, family = #exchange.moves<(t) in (4), on = t, slice = whole, image = [1024*t : +1024]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%1, %2) {family = #exchange.family<(m, q) in (2, 2), source = [512 - 512*q : +512], from = 2*m + q, to = [2*m + 1 - q], into = [256*q : +256, 512 + 256*q : +256]>, send = array<i64: 28, 29, 28, 29>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "gather"} : () -> ()
    "exchange.compute"() ({
      "exchange.run"(%2, %1) {family = #exchange.runs<(m, q) in (2, 2) on 2*m + q, slices = [[256*q : +768], [512*q : +512]]>, kernel = @copy_strided_u64, scalars = {destination_stride = 64 : i64, row_dwords = 32 : i64, rows = 2 : i64, source_stride = 32 : i64}} : (!exchange.buffer, !exchange.buffer) -> ()
      "exchange.run"(%3, %2) {family = #exchange.runs<on [0:4], slices = [whole, whole]>, kernel = @cast_f16_f143_panels, scalars = {elements = 512 : i64, panel_rows = 16 : i64, scale = -4 : i64}} : (!exchange.buffer, !exchange.buffer) -> ()
      "exchange.run"(%5, %3, %4) {family = #exchange.runs<on [0:4], slices = [whole, whole, whole]>, kernel = @gemm_f143_f16_k32_c16_r16, scalars = {product_scale = -8 : i64}} : (!exchange.buffer, !exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "multiply"} : () -> ()
    "exchange.phase"() ({
      "exchange.copy"(%5, %6) {family = #exchange.family<(m, q) in (2, 2), source = [256 - 256*q : +256], from = 2*m + q, to = [2*m + 1 - q], into = [0 : +256]>, send = array<i64: 28, 29, 28, 29>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "scatter"} : () -> ()
    "exchange.compute"() ({
      "exchange.run"(%7, %5, %6) {family = #exchange.runs<(m, q) in (2, 2) on 2*m + q, slices = [whole, [256*q : +256], whole]>, kernel = @reduce_add_f16, scalars = {elements = 128 : i64, remotes = 1 : i64}} : (!exchange.buffer, !exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "reduce"} : () -> ()
    "exchange.store_host"(%7) {binding = @c, family = #exchange.moves<(t) in (4), on = t, slice = whole, image = [256*t : +256]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0:4]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<32x64xf16>, %arg1: tensor<64x16x!ipu.f143<-4>>):
    %0 = "graph.gemm"(%arg0, %arg1) : (tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>>) -> tensor<32x16xf16>
    "graph.return"(%0) : (tensor<32x16xf16>) -> ()
  }) {function_type = (tensor<32x64xf16>, tensor<64x16x!ipu.f143<-4>>) -> tensor<32x16xf16>, sym_name = "reference"} : () -> ()
}) : () -> ()

