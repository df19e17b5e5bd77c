"""IPython, where the person has imported it: the only module that looks for it."""

import sys
from typing import Any


def interactive_shell() -> Any | None:
    """Return the running IPython shell, None without one; never imports IPython."""
    ipython = ipython_module()
    return None if ipython is None else ipython.get_ipython()


def user_namespace() -> dict[str, Any]:
    """Return the person's namespace itself: that of their shell, else of `__main__`."""
    shell = interactive_shell()
    return vars(sys.modules["__main__"]) if shell is None else shell.user_ns


def ipython_module(name: str = "") -> Any:
    """Return IPython, or a submodule such as `core.displayhook`; None while it is not imported."""
    return sys.modules.get(f"IPython.{name}" if name else "IPython")
