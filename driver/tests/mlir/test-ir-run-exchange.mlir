"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {kind = "input", sym_name = "a", tensor = tensor<2x32xf16, #mapped.layout<split = [2, 1], grain = [1, 16], tiles = (r, k) -> r, order = amp_left<16>, memory = standard>>} : () -> ()
    "exchange.binding"() {kind = "weight", sym_name = "b", tensor = tensor<32x2xf16, #mapped.layout<split = [2, 1], grain = [16, 16], tiles = (k, n) -> k + 2*n, order = amp_right<16>, pad = zero, memory = interleaved>>} : () -> ()
    "exchange.binding"() {kind = "output", sym_name = "c", tensor = tensor<2x2xf16, #mapped.layout<split = [2, 1], grain = [1, 16], tiles = (m, n) -> m floordiv 2*2 + 2*n + m mod 2, order = amp_left<16>, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x60000>, bytes = 64 : i64, memory = "standard", name = "a"} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x80000>, bytes = 512 : i64, memory = "interleaved", name = "b"} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x586e0>, bytes = 64 : i64, memory = "standard", name = "a_block", tail = 16 : i64} : () -> !exchange.buffer
    %3 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x60000>, bytes = 64 : i64, memory = "standard", name = "c_partial"} : () -> !exchange.buffer
    %4 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x586e0>, bytes = 32 : i64, memory = "standard", name = "c"} : () -> !exchange.buffer
    %5 = "exchange.buffer"() {align = 32 : i64, at = #ipu.address<0x58700>, bytes = 32 : i64, memory = "standard", name = "c.remote"} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @a, family = #exchange.moves<(i) in (2), on = i, slice = whole, image = [64*i : +64]>} : (!exchange.buffer) -> ()
    "exchange.load_host"(%1) {binding = @b, family = #exchange.moves<(i) in (2), on = i, slice = whole, image = [512*i : +512]>, once} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %2) {family = #exchange.family<(i) in (2), source = [32*i : +32], from = 1 - i, to = [i], into = [32 - 32*i : +32]>, send = array<i64: 29, 28>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "a_block_exchange"} : () -> ()
    "exchange.compute"() ({
      "exchange.run"(%2, %0) {family = #exchange.runs<(i) in (2) on i, slices = [[32*i : +32], [32*i : +32]]>, kernel = @copy_u64, scalars = {dwords = 4 : i64}} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "a_block_compute"} : () -> ()
    "exchange.compute"() ({
      "exchange.run"(%3, %2, %1) {family = #exchange.runs<on [0:2], slices = [whole, whole, whole]>, kernel = @gemm_f16_f16_k16_c16_r2} : (!exchange.buffer, !exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "c_partial_compute"} : () -> ()
    "exchange.phase"() ({
      "exchange.copy"(%3, %5) {family = #exchange.family<(i) in (2), source = [32 - 32*i : +32], from = i, to = [1 - i], into = [0 : +32]>, send = array<i64: 28, 29>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "c_exchange"} : () -> ()
    "exchange.compute"() ({
      "exchange.run"(%4, %3, %5) {family = #exchange.runs<(i) in (2) on i, slices = [whole, [32*i : +32], whole]>, kernel = @reduce_add_f16, scalars = {elements = 16 : i64, remotes = 1 : i64}} : (!exchange.buffer, !exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "c_compute"} : () -> ()
    "exchange.store_host"(%4) {binding = @c, family = #exchange.moves<(i) in (2), on = i, slice = whole, image = [32*i : +32]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0:2]>} : () -> ()
}) : () -> ()

