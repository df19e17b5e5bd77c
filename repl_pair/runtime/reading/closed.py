"""What is no data of the person's: the one table of closed packages and classes.

Everything is asked of the interpreter's own descriptors, never of the object or its class, which
may lie.
"""

import os
import sys
import types
from collections.abc import Callable
from typing import Any

from repl_pair.runtime.values.classes import lineage, real_class, root_of

MACHINERY = frozenset(
    {"IPython", "ipykernel", "jupyter_client", "zmq", "traitlets", "comm", "debugpy", "repl_pair"}
)
"""Packages whose objects are never opened. Dataclasses of theirs are, on the way out."""
CLOSED_PACKAGES = MACHINERY | {
    *("jupyter_core", "ipywidgets", "tornado", "importlib", "_frozen_importlib"),
    *("_frozen_importlib_external", "_thread", ""),
}
"""Packages into whose objects no agent's path leads.

Those beyond MACHINERY are opened on the way out: a secret that stands in one has to be known, so
that it is hidden wherever else it turns up.
"""
CLOSED_CLASSES = (
    *(type, property, staticmethod, classmethod, super, type(os.environ)),
    *(getattr(types, name) for name in types.__all__ if name.endswith("DescriptorType")),
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(types.MethodWrapperType, types.FrameType, types.TracebackType, types.CodeType),
    *(types.CellType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
)
"""Classes into whose instances no agent's path leads."""

_CLOSED_IDS = frozenset(map(id, CLOSED_CLASSES))
_has: Callable[[Any, str], bool] = vars(dict)["__contains__"]
_NAMESPACE_MARKS = ("__builtins__", "__loader__", "__spec__")


def is_closed(value: Any) -> bool:
    """Return whether no path leads into a value.

    That is a module, namespace, function, class, frame, environment, or an object of a closed
    package.
    """
    bases = lineage(real_class(value))
    if any(id(base) in _CLOSED_IDS or root_of(base) in CLOSED_PACKAGES for base in bases):
        return True
    if value is sys.modules:
        return True
    return type(value) is dict and any(_has(value, mark) for mark in _NAMESPACE_MARKS)
