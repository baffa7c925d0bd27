"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<4148xui32, #mapped.layout<split = [1], tiles = (w) -> 32, order = row_major, memory = interleaved>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<4148xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = interleaved>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x80000>, bytes = 16592 : i64, memory = "interleaved", name = "x", tiles = #ipu.tiles<[32]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x90000>, bytes = 16592 : i64, memory = "interleaved", name = "y", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 32, slice = whole, image = [0 : +16592]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<() in (), source = [0 : +16592], from = 32, to = [0], into = [0 : +16592]>, send = 0 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "move"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +16592]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 32]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<4148xui32>):
    "graph.return"(%arg0) : (tensor<4148xui32>) -> ()
  }) {function_type = (tensor<4148xui32>) -> tensor<4148xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

