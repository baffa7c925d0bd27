"builtin.module"() ({
  "tile.program"() ({
    "tile.binding"() {ipu.data = #ipu.iota<start = 1>, kind = "input", slices = #tile.slices<on 0 at 0x60000 image 0 bytes 64>, sym_name = "x", tensor = tensor<16xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "tile.binding"() {ipu.tolerance = #ipu.tolerance<absolute = 0.0, relative = 0.0>, kind = "output", slices = #tile.slices<on 0 at 0x61000 image 0 bytes 64>, sym_name = "y", tensor = tensor<16xui32, #mapped.layout<split = [1], tiles = (w) -> 0, order = row_major, memory = standard>>} : () -> ()
    "tile.kernel"() {address = 377144 : i64, reference, size = 128 : i64, sym_name = "copy_u64", tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.storage"() {address = 393216 : i64, buffer = "x", first = 0 : i64, last = 0 : i64, size = 64 : i64, tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.storage"() {address = 397312 : i64, buffer = "y", first = 1 : i64, last = 1 : i64, size = 64 : i64, tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377272 : i64, sym_name = "settle"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {row = @settle} : () -> ()
        "tile.call_kernel"() {addresses = array<i64: 397312, 393216>, kernel = @copy_u64, scalars = {dwords = 8 : i64}} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {physical = 0 : i64, tiles = #ipu.tiles<[0]>} : () -> ()
    "tile.image"() ({
      "tile.row"() ({
        "tile.br"() {operands = #tile.operands<m10>} : () -> ()
      }) {address = 377272 : i64, sym_name = "settle"} : () -> ()
      "tile.steps"() ({
        "tile.exchange_host"() {part = "inputs"} : () -> ()
        "tile.exchange"() {idle, row = @settle} : () -> ()
        "tile.exchange_host"() {part = "outputs"} : () -> ()
      }) : () -> ()
    }) {tiles = #ipu.tiles<[1:1472]>} : () -> ()
  }) {sym_name = "main"} : () -> ()
  "graph.func"() ({
  ^bb0(%arg0: tensor<16xui32>):
    "graph.return"(%arg0) : (tensor<16xui32>) -> ()
  }) {function_type = (tensor<16xui32>) -> tensor<16xui32>, sym_name = "reference"} : () -> ()
}) : () -> ()

