"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<20xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "near", tensor = tensor<20xui32, #mapped.layout<split = [1], tiles = (w) -> 274, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "middle", tensor = tensor<20xui32, #mapped.layout<split = [1], tiles = (w) -> 736, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "far", tensor = tensor<20xui32, #mapped.layout<split = [1], tiles = (w) -> 1286, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 80 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<{[274] = 0x60000, [736] = 0x61000, [1286] = 0x62000}>, bytes = 80 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[274, 736, 1286]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +80]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<() in (), source = [0 : +80], from = 0, to = [274, 736, 1286], into = [0 : +80]>, send = 23 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "spread"} : () -> ()
    "exchange.store_host"(%1) {binding = @near, family = #exchange.moves<() in (), on = 274, slice = whole, image = [0 : +80]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%1) {binding = @middle, family = #exchange.moves<() in (), on = 736, slice = whole, image = [0 : +80]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%1) {binding = @far, family = #exchange.moves<() in (), on = 1286, slice = whole, image = [0 : +80]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 274, 736, 1286]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<20xui32>):
    "graph.return"(%arg0, %arg0, %arg0) : (tensor<20xui32>, tensor<20xui32>, tensor<20xui32>) -> ()
  }) {function_type = (tensor<20xui32>) -> (tensor<20xui32>, tensor<20xui32>, tensor<20xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

