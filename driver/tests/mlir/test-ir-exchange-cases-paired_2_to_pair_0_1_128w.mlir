"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<128xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "even", tensor = tensor<128xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "odd", tensor = tensor<128xui32, #mapped.layout<split = [1], tiles = (w) -> 1, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 512 : i64, memory = "standard", name = "loaded", tiles = #ipu.tiles<[2]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x50000>, bytes = 512 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[2]>} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x60000>, bytes = 512 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[0:2]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 2, slice = whole, image = [0 : +512]>} : (!exchange.buffer) -> ()
    "exchange.compute"() ({
      "exchange.run"(%1, %0) {family = #exchange.runs<on [2], slices = [whole, whole]>, kernel = @copy_u64, scalars = {dwords = 64 : i64}} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "stage"} : () -> ()
    "exchange.phase"() ({
      "exchange.copy"(%1, %2) {family = #exchange.family<() in (), source = [0 : +512], from = 2, to = [0, 1], into = [0 : +512]>, paired, send = 27 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "move"} : () -> ()
    "exchange.store_host"(%2) {binding = @even, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +512]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%2) {binding = @odd, family = #exchange.moves<() in (), on = 1, slice = whole, image = [0 : +512]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0:4]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<128xui32>):
    "graph.return"(%arg0, %arg0) : (tensor<128xui32>, tensor<128xui32>) -> ()
  }) {function_type = (tensor<128xui32>) -> (tensor<128xui32>, tensor<128xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

