"""Signatures, written from the code object, the stored defaults and the hints in the source.

`inspect.signature` would ask `__signature__` and `__wrapped__`, and write defaults by their repr.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from enum import Enum, EnumMeta
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any

from repl_pair.runtime.inspection.sources import definition_of, function_in
from repl_pair.runtime.reading.code_lines import names_secret, shown_code
from repl_pair.runtime.reading.fields import (
    keys_are,
    read_fields,
    sensitive_fields,
)
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_of,
    lineage,
    name_of,
    qualname_of,
    real_class,
    space_of,
)
from repl_pair.runtime.values.declared_fields import names_of_holder, names_sensitive
from repl_pair.runtime.values.marks import is_secret_key, is_secret_label, secret_type
from repl_pair.wire import REDACTED

MAX_PARAMETERS = 60
_LONGEST = 60
"""Characters of one default."""
_SEARCHED = 8_000
"""Of a longer one, in which secrets are looked for."""
_MAX_PARTS = 6
_SIGNED_IN_C = (BuiltinFunctionType, MethodDescriptorType)
_tuple: Any = tuple
_CLASS_SIGNATURE = type.__dict__["__text_signature__"].__get__


def signature_of(value: Any, *, bound: bool = False) -> str:
    """Return the signature of a function, method or class, `bound` without self; "" if unknown."""
    if is_of(value, type):
        return _signature_of_class(value)
    if is_exactly(value, *_SIGNED_IN_C):
        text = real_class(value).__dict__["__text_signature__"].__get__(value)
        return _without_self(text) if type(text) is str else ""
    function = None if is_exactly(value, property, cached_property) else function_in(value)
    if function is None:
        return ""
    is_method = function.__code__.co_varnames[:1] == ("self",) and str.__contains__(
        function.__qualname__, "."
    )
    return _write(function, bound=bound or is_method or is_exactly(value, classmethod))


def hints_of_class(cls: type[Any]) -> dict[str, str]:
    """Return the hints of a class's fields as its source has them; else those that are a class."""
    annotations = space_of(cls).get("__annotations__")
    stored, node = _texts_of(annotations), definition_of(cls) if annotations else None
    body = node.body if isinstance(node, ast.ClassDef) else []
    fields = [one for one in body if isinstance(one, ast.AnnAssign)]
    written = {one.target.id: one for one in fields if isinstance(one.target, ast.Name)}
    return stored | {name: _hint(name, one.annotation) for name, one in written.items()}


def _signature_of_class(cls: type[Any]) -> str:
    if is_of(cls, EnumMeta):
        return ""
    for base in lineage(cls):
        if base is object:
            return "()"
        space = space_of(base)
        made = next((space[name] for name in ("__init__", "__new__") if name in space), None)
        fields: Any = space.get("__pydantic_fields__")
        if real_class(fields) is dict and base is cls:
            return _signature_of_model(cls, fields)
        if (function := function_in(made)) is not None:
            return _write(function, bound=True, secret=sensitive_fields(cls))
        if made is not None:
            text = _CLASS_SIGNATURE(base)
            return text if type(text) is str else ""
    return ""


def _signature_of_model(cls: type[Any], fields: dict[Any, Any]) -> str:
    hints, parts, secret = hints_of_class(cls), ["*"], sensitive_fields(cls)
    for name, info in list(fields.items())[:MAX_PARAMETERS]:
        found = (read_fields(info, private=True) or ({},))[0]
        missing = name_of(real_class(found.get("default"))) == "PydanticUndefinedType"
        made = found.get("default_factory") is not None
        hint = f": {hints[name]}" if name in hints else ""
        value = (
            " = <factory>" if made else f" = {_default(name, found.get('default'), name in secret)}"
        )
        parts.append(f"{name}{hint}{'' if missing and not made else value}")
    return f"({', '.join(parts)})" if parts[1:] else "()"


def _write(function: FunctionType, *, bound: bool, secret: frozenset[str] = frozenset()) -> str:
    node = definition_of(function)
    is_known = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    hints = _hints_in(node, function) if is_known else _texts_of(_annotations(function))
    parts = list(_parameters(function, hints, secret))
    if bound and parts and not parts[0].startswith("*"):
        parts = parts[2:] if parts[1:2] == ["/"] else parts[1:]
    more = ["…"] if len(parts) > MAX_PARAMETERS else []
    returned = f" -> {hints['return']}" if "return" in hints else ""
    return f"({', '.join(parts[:MAX_PARAMETERS] + more)}){returned}"


def _parameters(
    function: FunctionType, hints: Mapping[str, str], secret: frozenset[str]
) -> Iterator[str]:
    code = function.__code__
    variables, count = code.co_varnames, code.co_argcount
    stored: list[Any] = list(_tuple.__iter__(function.__defaults__ or ()))
    defaults: dict[str, Any] = dict(zip(variables[:count][::-1], stored[::-1], strict=False))
    keywords: Any = function.__kwdefaults__
    if real_class(keywords) is dict and keys_are(str, keywords):
        defaults |= keywords
    held = _annotations(function)
    declared: dict[str, Any] = held if real_class(held) is dict and keys_are(str, held) else {}
    names = names_of_holder(function) if declared else {}
    secret |= {name for name, hint in declared.items() if names_sensitive(hint, names)}
    secret |= {name for name, hint in hints.items() if names_secret(hint)}

    def write(name: str) -> str:
        hint = f": {hints[name]}" if name in hints else ""
        if name not in defaults:
            return f"{name}{hint}"
        return (
            f"{name}{hint}{' = ' if hint else '='}{_default(name, defaults[name], name in secret)}"
        )

    for at, name in enumerate(variables[:count], 1):
        yield write(name)
        if at == code.co_posonlyargcount:
            yield "/"
    after = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        yield f"*{write(variables[after])}"
    elif code.co_kwonlyargcount:
        yield "*"
    yield from map(write, variables[count:after])
    if code.co_flags & inspect.CO_VARKEYWORDS:
        yield f"**{write(variables[after + bool(code.co_flags & inspect.CO_VARARGS)])}"


def _hints_in(node: Any, function: FunctionType) -> dict[str, str]:
    """Return the hints of a definition, where it is that of the function and not of another."""
    given: ast.arguments = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    every += [one for one in (given.vararg, given.kwarg) if one is not None]
    if {one.arg for one in every} - {*function.__code__.co_varnames}:
        return {}
    hinted = {one.arg: one.annotation for one in every} | {"return": node.returns}
    return {name: _hint(name, hint) for name, hint in hinted.items() if hint is not None}


def _hint(name: str, hint: ast.expr) -> str:
    text = ast.unparse(hint)
    if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
        text = hint.value
    return _beside(name, text)


def _beside(name: str, text: str) -> str:
    beside = f"{name}: "
    return shown_code(f"{beside}{text}").removeprefix(beside)


def _annotations(function: FunctionType) -> Any:
    # From 3.14 on, asking for them runs the code of the hints.
    return None if hasattr(function, "__annotate__") else function.__annotations__


def _texts_of(hints: Any) -> dict[str, str]:
    if real_class(hints) is not dict or not keys_are(str, hints):
        return {}
    texts = {n: _beside(n, h) for n, h in hints.items() if type(h) is str}
    classes = {n: qualname_of(h) for n, h in hints.items() if is_of(h, type)}
    return texts | classes | {n: "None" for n, h in hints.items() if h is None}


def _default(name: str, value: Any, is_declared: bool) -> str:
    """Return the text of a default; of a value that is no plain data, its class."""
    if value is None or value is True or value is False:
        return str(value)
    if is_declared or is_secret_key(name) or secret_type(value):
        return REDACTED
    return _text(value, 2)


def _text(value: Any, depth: int) -> str:
    cls = real_class(value)
    if is_exactly(value, int) and value.bit_length() > 200:
        return "<int>"
    if is_exactly(value, int, float, str, bytes, bool, type(None), complex):
        if not is_exactly(value, str, bytes) or len(value) <= _LONGEST:
            return repr(value)
        # Half a secret at the end would not be known as one.
        return f"{NEEDLES.scrub(repr(value[:_SEARCHED]), _LONGEST)[0]}…"
    if is_exactly(value, list, dict, set) and not value:
        return {list: "[]", dict: "{}", set: "set()"}[cls]
    if cls is tuple and depth and len(value) <= _MAX_PARTS:
        is_secret = len(value) == 2 and is_secret_label(value[0])  # a pair of name and value
        some = value[:1] if is_secret else value
        parts = ", ".join([*(_text(part, depth - 1) for part in some), *[REDACTED] * is_secret])
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    if is_of(value, type):
        return qualname_of(value)
    if any(base is Enum for base in lineage(cls)):
        name = (read_fields(value, private=True) or ({},))[0].get("_name_")
        return f"{name_of(cls)}.{name}" if type(name) is str else f"<{name_of(cls)}>"
    function = function_in(value)
    if function is not None:
        return str.__str__(function.__name__)
    return "<factory>" if name_of(cls) == "_HAS_DEFAULT_FACTORY_CLASS" else f"<{name_of(cls)}>"


def _without_self(text: str) -> str:
    """Return a signature in C as a caller writes it: `($self, /, x)` without what is bound."""
    for head in ("($self, /, ", "($self, ", "($module, /, ", "($module, "):
        if text.startswith(head):
            return f"({text[len(head) :]}"
    return "()" if text in ("($self, /)", "($self)", "($module, /)", "($module)") else text
