"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<2x80xui32, #mapped.layout<split = [2, 1], tiles = (t, w) -> 2*t, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "received", tensor = tensor<2x80xui32, #mapped.layout<split = [2, 1], tiles = (t, w) -> 2 - 2*t, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 320 : i64, memory = "standard", name = "x"} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 320 : i64, memory = "standard", name = "y"} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<(t) in (2), on = 2*t, slice = whole, image = [320*t : +320]>} : (!exchange.buffer) -> ()
    "exchange.phase"() ({
      "exchange.copy"(%0, %1) {family = #exchange.family<(t) in (2), source = [0 : +320], from = 2*t, to = [2 - 2*t], into = [0 : +320]>, send = array<i64: 31, 27>} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "swap"} : () -> ()
    "exchange.store_host"(%1) {binding = @received, family = #exchange.moves<(t) in (2), on = 2 - 2*t, slice = whole, image = [320*t : +320]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0, 2]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<2x80xui32>):
    "graph.return"(%arg0) : (tensor<2x80xui32>) -> ()
  }) {function_type = (tensor<2x80xui32>) -> tensor<2x80xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

