"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<3xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<3xui32, #mapped.layout<split = [1], tiles = (w) -> 1286, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 12 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60040>, bytes = 12 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[1286]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +12]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<() in (), source = [0 : +12], from = 0, to = [1286], into = [0 : +12]>, send = 135 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {base = #ipu.address<{[1286] = 0x60040}>, sym_name = "move"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<() in (), on = 1286, slice = whole, image = [0 : +12]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 1286]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<3xui32>):
    "graph.return"(%arg0) : (tensor<3xui32>) -> ()
  }) {function_type = (tensor<3xui32>) -> tensor<3xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

