"""IPython, where the person has imported it: the only module that looks for it."""

import sys
from typing import Any


def interactive_shell() -> Any | None:
    """Return the running IPython shell, None without one; never imports IPython."""
    ipython = ipython_module()
    return None if ipython is None else ipython.get_ipython()


def ipython_module(name: str = "") -> Any:
    """Return IPython, or a submodule such as `core.displayhook`; None while it is not imported."""
    return sys.modules.get(f"IPython.{name}" if name else "IPython")
