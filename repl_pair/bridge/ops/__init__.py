"""The ops that the bridge answers itself; importing the package registers all of them."""

from repl_pair.bridge.ops import background, calls, kernels
from repl_pair.bridge.ops.table import TABLE

__all__ = ["TABLE", "background", "calls", "kernels"]
