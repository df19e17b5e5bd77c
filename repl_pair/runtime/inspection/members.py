"""What an object, class or module has: each member by its name, what it is, and its signature."""

from collections.abc import Callable, Iterator
from functools import cached_property
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any, Literal, NamedTuple, TypeAlias

from repl_pair.runtime.inspection.signatures import hints_of_class, signature_of
from repl_pair.runtime.reading.closed_values import CLOSED_PACKAGES, Kind, is_closed, kind_of
from repl_pair.runtime.reading.fields import keys_are, read_fields
from repl_pair.runtime.reading.parts import describe
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.reading.table_parts import MISSING
from repl_pair.runtime.values.classes import (
    is_of,
    lineage,
    module_of,
    qualname_of,
    real_class,
    root_of,
    space_of,
    type_name,
)

MemberKind: TypeAlias = (
    Literal["field", "property", "method", "classmethod", "staticmethod", "attribute"] | Kind
)
UNSHOWN_PACKAGES = CLOSED_PACKAGES - {"matplotlib", "ipywidgets"}
"""Packages whose functions and classes read as if they were not there."""
_OF_CLASSES: dict[int, MemberKind] = {
    id(FunctionType): "method",
    id(MethodDescriptorType): "method",
    id(classmethod): "classmethod",
    id(ClassMethodDescriptorType): "classmethod",
    id(staticmethod): "staticmethod",
    id(BuiltinFunctionType): "staticmethod",
    id(property): "property",
    id(cached_property): "property",
    id(GetSetDescriptorType): "property",
    id(MemberDescriptorType): "field",
}
_BOUND = ("method", "classmethod")


class Member(NamedTuple):
    """A member by name; `type` is the hint of a field, of an instance's the class of its value."""

    name: str
    kind: MemberKind
    type: str = ""
    value: Any = None

    def line(self) -> dict[str, Any]:
        """Return it as an answer has it; slots that hold nothing are left out."""
        is_called = self.kind in (*_BOUND, "staticmethod", "function", "class")
        signed = signature_of(self.value, bound=self.kind in _BOUND) if is_called else ""
        slots = {"name": self.name, "kind": self.kind, "type": self.type, "signature": signed}
        return {slot: text for slot, text in slots.items() if text}


def members_of(value: Any) -> list[Member]:
    """Return the public members of a value, those that it stores first; none of its code runs."""
    if is_of(value, ModuleType):
        return _sorted(_of_module(value))
    if is_of(value, type):
        return _sorted(_of_class(value))
    fields = [] if is_closed(value) else [*_of_instance(value)]
    stored = {one.name for one in fields}
    return fields + [one for one in _sorted(_of_class(real_class(value))) if one.name not in stored]


def member_of_class(cls: type[Any], name: str) -> Any:
    """Return what a class or a base of it has under a public name, if code; else MISSING."""
    for base in () if name.startswith("_") else _shown_bases(cls):
        space = space_of(base)
        if name in space:
            is_code = id(real_class(space[name])) in _OF_CLASSES or is_of(space[name], type)
            return space[name] if is_code and is_shown_code(space[name]) else MISSING
    return MISSING


def is_shown_code(value: Any) -> bool:
    """Return whether a function, class or module may be described; true of anything else."""
    kind = kind_of(real_class(value))
    if kind == "class":
        return root_of(value) not in UNSHOWN_PACKAGES
    if kind == "data":
        return True
    stored = stored_fields(value) if kind == "module" else {}
    module = stored.get("__name__") if kind == "module" else value.__module__
    root = module.partition(".")[0] if type(module) is str else "__main__"
    return root not in UNSHOWN_PACKAGES


def _sorted(members: Iterator[Member]) -> list[Member]:
    kinds = ("field", "data", "attribute")
    return sorted(members, key=lambda one: (one.kind not in kinds, one.name))


def _of_module(module: Any) -> Iterator[Member]:
    for name, value in stored_fields(module).copy().items():
        if type(name) is str and name[:1] != "_" and is_shown_code(value):
            kind = kind_of(real_class(value))
            yield Member(name, kind, type_name(value) if kind == "data" else "", value)


def _of_instance(value: Any) -> Iterator[Member]:
    fields = read_fields(value) if real_class(describe(value, room=0).body) is dict else None
    for name, item in ({} if fields is None else fields[0]).items():
        if name[:1] != "_":
            yield Member(name, "field", type_name(item))


def _of_class(cls: type[Any]) -> Iterator[Member]:
    met: set[str] = set()
    for base in _shown_bases(cls):
        space = space_of(base)
        hints: Callable[[str], str] = _lazy_hints(base)
        declared = (_names(space.get(slot)) for slot in _DECLARING)
        names = [*(name for some in declared for name in some), *space]
        for name in dict.fromkeys(names):
            if name[:1] == "_" or name in met:
                continue
            met.add(name)
            held = space.get(name, MISSING)
            kind = "field" if held is MISSING else _kind_in_class(held)
            is_field = kind == "attribute" and name in _names(space.get("__annotations__"))
            kind = "field" if is_field else kind
            yield Member(name, kind, hints(name) if kind == "field" else "", held)


_DECLARING = ("__dataclass_fields__", "__pydantic_fields__", "__annotations__")


def _lazy_hints(base: type[Any]) -> Callable[[str], str]:
    found: list[dict[str, str]] = []

    def hint(name: str) -> str:
        if not found:
            found.append(hints_of_class(base))
        return found[0].get(name, "")

    return hint


def _kind_in_class(held: Any) -> MemberKind:
    return "class" if is_of(held, type) else _OF_CLASSES.get(id(real_class(held)), "attribute")


def _names(held: Any) -> list[str]:
    return list(held) if real_class(held) is dict and keys_are(str, held) else []


def _shown_bases(cls: type[Any]) -> list[type[Any]]:
    bases = [base for base in lineage(cls) if base is not object]
    return [base for base in bases if root_of(base) not in UNSHOWN_PACKAGES]


def full_name(cls: type[Any]) -> str:
    """Return a class's name behind its module, where that says more."""
    module = module_of(cls)
    return (
        qualname_of(cls)
        if module in ("", "builtins", "__main__")
        else f"{module}.{qualname_of(cls)}"
    )
