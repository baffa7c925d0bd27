"builtin.module"() ({
  "tile.program"() ({
    "tile.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", slices = #tile.slices<on 0 at 0x65000 image 0 bytes 16>, sym_name = "sent", tensor = tensor<4xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.data = #ipu.iota<start = 0xfeed0000>, kind = "input", slices = #tile.slices<on 2 at 0x60000 image 0 bytes 20>, sym_name = "before", tensor = tensor<5xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.expected = #ipu.iota<start = 0x10000001>, ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 2 at 0x60000 image 0 bytes 12>, sym_name = "arrived", tensor = tensor<3xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.expected = #ipu.iota<start = 0xfeed0003>, ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 2 at 0x6000c image 0 bytes 8>, sym_name = "untouched", tensor = tensor<2xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.delay"() {operands = #tile.operands<30>} : () -> ()
        "tile.send"() {operands = #tile.operands<3, 0x19400, 1>} : () -> ()
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "move"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @move} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 0 : i64, tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.delayxpic"() {operands = #tile.operands<1, 0, 0x0>} : () -> ()
        "tile.delayxpic"() {operands = #tile.operands<3, 0, 0x640>} : () -> ()
        "tile.delaypic"() {operands = #tile.operands<49, 0, 0x18000>} : () -> ()
        "tile.delay"() {operands = #tile.operands<8>} : () -> ()
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "move"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @move} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 64 : i64, tiles = #ipu.tiles<[2]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "move"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {idle, row = @move} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {tiles = #ipu.tiles<[1, 3:1472]>} : () -> ()
  }) {sym_name = "main"} : () -> ()
}) : () -> ()

