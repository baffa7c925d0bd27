"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<200xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x20000000>, kind = "input", sym_name = "gathered", tensor = tensor<3x52xui32, #mapped.layout<split = [3, 1], tiles = (s, w) -> 2 + 2*s, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<200xui32, #mapped.layout<split = [1], tiles = (w) -> 8, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "collected", tensor = tensor<3x52xui32, #mapped.layout<split = [1, 1], tiles = (s, w) -> 0, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 800 : i64, memory = "standard", name = "long", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 208 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[2, 4, 6]>} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 8400 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %3 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 800 : i64, memory = "standard", name = "z", tiles = #ipu.tiles<[8]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +800]>} : (!exchange.buffer) -> ()
    "exchange.load_host"(%1) {binding = @gathered, family = #exchange.moves<(s) in (3), on = 2 + 2*s, slice = whole, image = [208*s : +208]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %3) {family = #exchange.family<() in (), source = [0 : +800], from = 0, to = [8], into = [0 : +800]>, send = 37 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
      "exchange.copy"(%1, %2) {family = #exchange.family<(s) in (3), source = [0 : +208], from = 2 + 2*s, to = [0], into = [4096*s : +208]>, send = array<i64: 27, 77, 127>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "move"} : () -> ()
    "exchange.store_host"(%3) {binding = @received, family = #exchange.moves<() in (), on = 8, slice = whole, image = [0 : +800]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%2) {binding = @collected, family = #exchange.moves<(s) in (3), on = 0, slice = [4096*s : +208], image = [208*s : +208]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2, 4, 6, 8]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<200xui32>, %arg1: tensor<3x52xui32>):
    "graph.return"(%arg0, %arg1) : (tensor<200xui32>, tensor<3x52xui32>) -> ()
  }) {function_type = (tensor<200xui32>, tensor<3x52xui32>) -> (tensor<200xui32>, tensor<3x52xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

