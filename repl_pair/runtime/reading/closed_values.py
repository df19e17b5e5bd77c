"""What no agent's path leads into: code, namespaces, and what packages of the kernel made."""

import io
import os
import sys
import types
from collections.abc import Container
from typing import Any, Literal, TypeAlias, cast, get_args

from repl_pair.runtime.reading.fields import MACHINERY, keys_are
from repl_pair.runtime.values.classes import lineage, per_class, real_class, root_of

Kind: TypeAlias = Literal["data", "function", "class", "module"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CLOSED_PACKAGES = MACHINERY | {
    *("jupyter_core", "ipywidgets", "tornado", "importlib", "_frozen_importlib"),
    *("_frozen_importlib_external", "_thread", "", "io", "_io", "logging", "subprocess", "socket"),
    *("_socket", "ssl", "selectors", "select", "code", "bdb", "pdb"),
}
"""Packages into whose objects no agent's path leads; on the way out they are closed too."""
CLOSED_CLASSES = (
    *(type, property, staticmethod, classmethod, super, type(os.environ), io.IOBase),
    *(getattr(types, name) for name in types.__all__ if name.endswith("DescriptorType")),
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(types.MethodWrapperType, types.FrameType, types.TracebackType, types.CodeType),
    *(types.CellType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
)
"""Classes into whose instances no agent's path leads."""
_CLOSED_IDS = frozenset(map(id, CLOSED_CLASSES))
_PLAIN_DICT: Any = dict
_keys = _PLAIN_DICT.__iter__
_IMPORT_STATE = ("modules", "path", "meta_path", "path_hooks", "path_importer_cache")
_KINDS: dict[int, Kind] = {
    id(types.FunctionType): "function",
    id(types.BuiltinFunctionType): "function",
    id(type): "class",
    id(types.ModuleType): "module",
}


def kind_of(cls: type[Any]) -> Kind:
    """Return which kind of thing the instances of a class are."""
    for base in lineage(cls):
        if id(base) in _KINDS:
            return _KINDS[id(base)]
    return "data"


def is_closed(value: Any) -> bool:
    """Return whether no path leads into a value: code, a namespace, what a closed package made."""
    if is_closed_class(real_class(value)) or any(
        value is getattr(sys, name) for name in _IMPORT_STATE
    ):
        return True
    return type(value) is dict and is_namespace(cast("dict[Any, Any]", value))


@per_class
def is_closed_class(cls: type[Any]) -> bool:
    """Return whether no path leads into the instances of a class."""
    bases = lineage(cls)
    return any(id(base) in _CLOSED_IDS or root_of(base) in CLOSED_PACKAGES for base in bases)


def is_namespace(value: dict[Any, Any]) -> bool:
    """Return whether a dict is what `vars` gives of a module or class, or what code runs in."""
    if keys_are(str, value):
        return names_namespace(value)
    # A lookup would compare with keys that have code of their own.
    names = () if keys_are(int, value) else {key for key in list(_keys(value)) if type(key) is str}
    return names_namespace(names)


def names_namespace(names: Container[str]) -> bool:
    """Return whether names, all exactly text, are those of a namespace."""
    return "__module__" in names or "__spec__" in names or "__builtins__" in names
