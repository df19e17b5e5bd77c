"""The running IPython shell, without importing IPython: the one place that looks for it."""

import sys
from typing import Any


def interactive_shell() -> Any | None:
    """Return the running IPython shell, without ever importing IPython."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
