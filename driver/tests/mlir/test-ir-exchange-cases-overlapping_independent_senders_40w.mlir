"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<2x40xui32, #mapped.layout<split = [2, 1], tiles = (t, w) -> 1286*t, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<2x40xui32, #mapped.layout<split = [2, 1], tiles = (t, w) -> 2 + 1469*t, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 160 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0, 1286]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 160 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[2, 1471]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<(t) in (2), on = 1286*t, slice = whole, image = [160*t : +160]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<(t) in (2), source = [0 : +160], from = 1286*t, to = [2 + 1469*t], into = [0 : +160]>, send = array<i64: 31, 14>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "move"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<(t) in (2), on = 2 + 1469*t, slice = whole, image = [160*t : +160]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2, 1286, 1471]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x40xui32>):
    "graph.return"(%arg0) : (tensor<2x40xui32>) -> ()
  }) {function_type = (tensor<2x40xui32>) -> tensor<2x40xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

