"builtin.module"() ({
  "tile.program"() ({
    "tile.binding"() {ipu.data = #ipu.iota<start = 0x10000000>, kind = "input", slices = #tile.slices<on 0 at 0x65000 image 0 bytes 240>, sym_name = "first", tensor = tensor<60xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.data = #ipu.iota<start = 0x20000000>, kind = "input", slices = #tile.slices<on 4 at 0x65000 image 0 bytes 240>, sym_name = "second", tensor = tensor<60xui32, #mapped.layout<split = [1], tiles = (w) -> 4, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.data = #ipu.iota<start = 0xfeed0000>, kind = "input", slices = #tile.slices<on 2 at 0x61000 image 0 bytes 244>, sym_name = "before", tensor = tensor<61xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.expected = #ipu.iota<start = 0x10000000>, ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 2 at 0x60000 image 0 bytes 236>, sym_name = "start", tensor = tensor<59xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.expected = #ipu.iota<start = 0x1000003b>, ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 2 at 0x61000 image 0 bytes 4>, sym_name = "stray", tensor = tensor<1xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.expected = #ipu.iota<start = 0x20000000>, ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 2 at 0x61004 image 0 bytes 240>, sym_name = "shifted", tensor = tensor<60xui32, #mapped.layout<split = [1], tiles = (w) -> 2, order = row_major, memory = standard>>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.delay"() {operands = #tile.operands<30>} : () -> ()
        "tile.send"() {operands = #tile.operands<59, 0x19400, 1>} : () -> ()
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "gather"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @gather} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 0 : i64, tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.delayxpic"() {operands = #tile.operands<0, 0, 0x0>} : () -> ()
        "tile.delaypic"() {operands = #tile.operands<53, 0, 0x18000>} : () -> ()
        "tile.delayxpic"() {operands = #tile.operands<5, 0, 0x80>} : () -> ()
        "tile.delaypic"() {operands = #tile.operands<52, 0, 0x18400>} : () -> ()
        "tile.delayxpic"() {operands = #tile.operands<6, 0, 0x640>} : () -> ()
        "tile.delay"() {operands = #tile.operands<58>} : () -> ()
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "gather"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @gather} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 64 : i64, tiles = #ipu.tiles<[2]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.delay"() {operands = #tile.operands<86>} : () -> ()
        "tile.send"() {operands = #tile.operands<59, 0x19400, 1>} : () -> ()
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "gather"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @gather} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 128 : i64, tiles = #ipu.tiles<[4]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377144 : i64, sym_name = "gather"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {idle, row = @gather} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {tiles = #ipu.tiles<[1, 3, 5:1472]>} : () -> ()
  }) {sym_name = "main"} : () -> ()
}) : () -> ()

