# The files here for LLVM's lit: `lit lit`, with ipu, ipu-opt and FileCheck in PATH. FILECHECK names another FileCheck.
import os
import tempfile

import lit.formats

config.name = "ipu"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir"]
config.test_exec_root = os.path.join(tempfile.gettempdir(), "ipu-lit")
config.environment["PATH"] = os.environ["PATH"]
config.environment["NO_COLOR"] = "1"
config.substitutions.append((r"\bFileCheck\b", os.environ.get("FILECHECK", "FileCheck")))
