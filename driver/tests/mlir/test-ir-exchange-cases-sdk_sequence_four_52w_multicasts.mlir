"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<4x52xui32, #mapped.layout<split = [4, 1], tiles = (s, w) -> s, through = [0, 4, 6, 8], order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on2", tensor = tensor<4x52xui32, #mapped.layout<split = [1, 1], tiles = (s, w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on5", tensor = tensor<4x52xui32, #mapped.layout<split = [1, 1], tiles = (s, w) -> 5, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 208 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0, 4, 6, 8]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 12496 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[2, 5]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<(s) in (4), on = [0, 4, 6, 8], slice = whole, image = [208*s : +208]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<(s) in (4), source = [0 : +208], from = [0, 4, 6, 8], to = [2, 5], into = [4096*s : +208]>, send = array<i64: 32, 80, 130, 180>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "gather"} : () -> ()
    "exchange.store_host"(%1) {binding = @on2, family = #exchange.moves<(s) in (4), on = 2, slice = [4096*s : +208], image = [208*s : +208]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%1) {binding = @on5, family = #exchange.moves<(s) in (4), on = 5, slice = [4096*s : +208], image = [208*s : +208]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2, 4:7, 8]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<4x52xui32>):
    "graph.return"(%arg0, %arg0) : (tensor<4x52xui32>, tensor<4x52xui32>) -> ()
  }) {function_type = (tensor<4x52xui32>) -> (tensor<4x52xui32>, tensor<4x52xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

