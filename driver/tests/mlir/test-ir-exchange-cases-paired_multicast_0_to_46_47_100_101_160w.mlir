"builtin.module"() ({
  "exchange.program"() ({
    "exchange.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", sym_name = "sent", tensor = tensor<160xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on46", tensor = tensor<160xui32, #mapped.layout<split = [1], tiles = (w) -> 46, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on47", tensor = tensor<160xui32, #mapped.layout<split = [1], tiles = (w) -> 47, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on100", tensor = tensor<160xui32, #mapped.layout<split = [1], tiles = (w) -> 100, order = row_major, memory = standard>>} : () -> ()
    "exchange.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", sym_name = "on101", tensor = tensor<160xui32, #mapped.layout<split = [1], tiles = (w) -> 101, order = row_major, memory = standard>>} : () -> ()
    %0 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x65000>, bytes = 640 : i64, memory = "standard", name = "loaded", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %1 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<0x50000>, bytes = 640 : i64, memory = "standard", name = "x", tiles = #ipu.tiles<[0]>} : () -> !exchange.buffer
    %2 = "exchange.buffer"() {align = 8 : i64, at = #ipu.address<{[46:48] = 0x60000, [100:102] = 0x61000}>, bytes = 640 : i64, memory = "standard", name = "y", tiles = #ipu.tiles<[46:48, 100:102]>} : () -> !exchange.buffer
    "exchange.load_host"(%0) {binding = @sent, family = #exchange.moves<() in (), on = 0, slice = whole, image = [0 : +640]>} : (!exchange.buffer) -> ()
    "exchange.compute"() ({
      "exchange.run"(%1, %0) {family = #exchange.runs<on [0], slices = [whole, whole]>, kernel = @copy_u64, scalars = {dwords = 80 : i64}} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "stage"} : () -> ()
    "exchange.phase"() ({
      "exchange.copy"(%1, %2) {family = #exchange.family<() in (), source = [0 : +640], from = 0, to = [46, 47, 100, 101], into = [0 : +640]>, paired, send = 70 : i64} : (!exchange.buffer, !exchange.buffer) -> ()
    }) {sym_name = "spread"} : () -> ()
    "exchange.store_host"(%2) {binding = @on46, family = #exchange.moves<() in (), on = 46, slice = whole, image = [0 : +640]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%2) {binding = @on47, family = #exchange.moves<() in (), on = 47, slice = whole, image = [0 : +640]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%2) {binding = @on100, family = #exchange.moves<() in (), on = 100, slice = whole, image = [0 : +640]>} : (!exchange.buffer) -> ()
    "exchange.store_host"(%2) {binding = @on101, family = #exchange.moves<() in (), on = 101, slice = whole, image = [0 : +640]>} : (!exchange.buffer) -> ()
  }) {sym_name = "main", tiles = #ipu.tiles<[0:2, 46:48, 100:102]>} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<160xui32>):
    "graph.return"(%arg0, %arg0, %arg0, %arg0) : (tensor<160xui32>, tensor<160xui32>, tensor<160xui32>, tensor<160xui32>) -> ()
  }) {function_type = (tensor<160xui32>) -> (tensor<160xui32>, tensor<160xui32>, tensor<160xui32>, tensor<160xui32>), sym_name = "reference"} : () -> ()
}) : () -> ()

