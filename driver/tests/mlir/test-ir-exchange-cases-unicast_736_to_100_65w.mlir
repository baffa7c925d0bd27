"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<65xui32, #mapped.layout<split = [1], tiles = (w) -> 736, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<65xui32, #mapped.layout<split = [1], tiles = (w) -> 100, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 260 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[736]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 260 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[100]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 736, slice = whole, image = [0 : +260]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<() in (), source = [0 : +260], from = 736, to = [100], into = [0 : +260]>, send = 0 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "move"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<() in (), on = 100, slice = whole, image = [0 : +260]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[100, 736]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<65xui32>):
    "graph.return"(%arg0) : (tensor<65xui32>) -> ()
  }) {function_type = (tensor<65xui32>) -> tensor<65xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

