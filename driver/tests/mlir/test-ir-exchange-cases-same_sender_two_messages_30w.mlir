"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<2x30xui32, #mapped.layout<split = [1, 1], tiles = (t, w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<2x30xui32, #mapped.layout<split = [2, 1], tiles = (t, w) -> 2 + t, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 120 : i64, memory = "standard", name = "first", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x66000>, bytes = 120 : i64, memory = "standard", name = "second", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 120 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[2:4]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +120]>} : (!exchange.buffer) -> ()
    "exchange.load_host"(%1) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [120 : +120]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %2) {family = #exchange.family<() in (), source = [0 : +120], from = 0, to = [2], into = [0 : +120]>, send = 31 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
      "exchange.copy"(%1, %2) {family = #exchange.family<() in (), source = [0 : +120], from = 0, to = [3], into = [0 : +120]>, send = 61 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "scatter"} : () -> ()
    "exchange.store_host"(%2) {binding = @received, family = #exchange.moves<(t) in (2), on = 2 + t, slice = whole, image = [120*t : +120]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2:4]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x30xui32>):
    "graph.return"(%arg0) : (tensor<2x30xui32>) -> ()
  }) {function_type = (tensor<2x30xui32>) -> tensor<2x30xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

