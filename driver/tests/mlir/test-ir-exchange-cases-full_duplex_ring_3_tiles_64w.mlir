"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<3x64xui32, #mapped.layout<split = [3, 1], tiles = (t, w) -> 92*t, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<3x64xui32, #mapped.layout<split = [3, 1], tiles = (t, w) -> t, through = [92, 184, 0], order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 256 : i64, memory = "standard", name = "x"} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 256 : i64, memory = "standard", name = "y"} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<(t) in (3), on = 92*t, slice = whole, image = [256*t : +256]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<(t) in (3), source = [0 : +256], from = 92*t, to = [[92, 184, 0]], into = [0 : +256]>, send = array<i64: 28, 28, 9>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "turn"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<(t) in (3), on = [92, 184, 0], slice = whole, image = [256*t : +256]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 92, 184]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<3x64xui32>):
    "graph.return"(%arg0) : (tensor<3x64xui32>) -> ()
  }) {function_type = (tensor<3x64xui32>) -> tensor<3x64xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

