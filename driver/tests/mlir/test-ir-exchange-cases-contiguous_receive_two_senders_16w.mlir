"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<2x16xui32, #mapped.layout<split = [2, 1], tiles = (s, w) -> 4*s, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<2x16xui32, #mapped.layout<split = [1, 1], tiles = (s, w) -> 2, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 64 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0, 4]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 128 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[2]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<(s) in (2), on = 4*s, slice = whole, image = [64*s : +64]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<(s) in (2), source = [0 : +64], from = 4*s, to = [2], into = [64*s : +64]>, send = array<i64: 31, 43>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "gather"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<() in (), on = 2, slice = whole, image = [0 : +128]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2, 4]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x16xui32>):
    "graph.return"(%arg0) : (tensor<2x16xui32>) -> ()
  }) {function_type = (tensor<2x16xui32>) -> tensor<2x16xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

