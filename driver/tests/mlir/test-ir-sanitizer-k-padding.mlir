"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota, kind = "input", sym_name = "a", tensor = tensor<384xui8, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.data = #ipu.normal<seed = 2, sigma = 0.125>, kind = "weight", sym_name = "b", tensor = tensor<32x16x!ipu.f143<-4>, #mapped.layout<split = [1, 1], tiles = (k, n) -> 0, order = amp_right<32>, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "c", tensor = tensor<16x16xf16, #mapped.layout<split = [1, 1], tiles = (m, n) -> 0, order = amp_left<16>, memory = standard>>} : () -> ()
    %1 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x60000>, bytes = 512 : i64, memory = "standard", name = "a", tail = 8 : i64} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x68000>, bytes = 512 : i64, memory = "standard", name = "b"} : () -> !exchange.buffer
    %3 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x80000>, bytes = 512 : i64, memory = "interleaved", name = "c"} : () -> !exchange.buffer
    "exchange.load_host"(%2) {binding = @b, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +512]>, once} : (!exchange.buffer) -> ()
    "exchange.load_host"(%1) {binding = @a, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +384]>} : (!exchange.buffer) -> ()
    "exchange.compute"() ({
      "exchange.run"(%3, %1, %2) {family = #exchange.runs<on [0], slices = [whole, whole, whole]>, kernel = @gemm_f143_f16_k32_c16_r16, scalars = {product_scale = -8 : i64}} : (!exchange.buffer, !exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "multiply"} : () -> ()
    "exchange.store_host"(%3) {binding = @c, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +512]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<384xui8>, %arg1: tensor<32x16x!ipu.f143<-4>>):
    %0 = "graph.constant"() {value = dense<0.000000e+00> : tensor<16x16xf16>} : () -> tensor<16x16xf16>
    "graph.return"(%0) : (tensor<16x16xf16>) -> ()
  }) {function_type = (tensor<384xui8>, tensor<32x16x!ipu.f143<-4>>) -> tensor<16x16xf16>, sym_name = "reference"} : () -> ()
}) : () -> ()

