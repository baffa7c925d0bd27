"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<100xui32, #mapped.layout<split = [1], tiles = (w) -> 600, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "left", tensor = tensor<100xui32, #mapped.layout<split = [1], tiles = (w) -> 46, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "right", tensor = tensor<100xui32, #mapped.layout<split = [1], tiles = (w) -> 1200, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 400 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[600]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<{[46] = 0x60000, [1200] = 0x61000}>, bytes = 400 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[46, 1200]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 600, slice = whole, image = [0 : +400]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<() in (), source = [0 : +400], from = 600, to = [46, 1200], into = [0 : +400]>, send = 0 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "spread"} : () -> ()
    "exchange.store_host"(%1) {binding = @left, family = #exchange.moves<() in (), on = 46, slice = whole, image = [0 : +400]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%1) {binding = @right, family = #exchange.moves<() in (), on = 1200, slice = whole, image = [0 : +400]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[46, 600, 1200]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<100xui32>):
    "graph.return"(%arg0, %arg0) : (tensor<100xui32>, tensor<100xui32>) -> ()
  }) {function_type = (tensor<100xui32>) -> (tensor<100xui32>, tensor<100xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

