"""What an exception holds, from the interpreter's own slots: no code of its class runs.

And how a play names the class of an exception or a warning.
"""

import builtins
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType, WrapperDescriptorType
from typing import Any, cast

from repl_pair.runtime.reading.fields import keys_are, read_fields
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_installed,
    is_of,
    lineage,
    module_of,
    name_of,
    qualname_of,
    real_class,
    root_of,
    space_of,
)

_MOST_ARGS = 100
_TRACEBACK, _CAUSE, _CONTEXT, _IS_SUPPRESSED, _ARGS, _SPACE = (
    BaseException.__dict__[slot].__get__
    for slot in (
        *("__traceback__", "__cause__", "__context__", "__suppress_context__"),
        *("args", "__dict__"),
    )
)
_EXCEPTIONS = BaseExceptionGroup.__dict__["exceptions"].__get__
_TEXTS: tuple[tuple[type[BaseException], tuple[str, ...]], ...] = (
    (OSError, ("errno", "strerror", "filename", "filename2")),
    (ImportError, ("msg",)),
    (UnicodeEncodeError, ("encoding", "object", "reason")),
    (UnicodeDecodeError, ("encoding", "object", "reason")),
    (UnicodeTranslateError, ("object", "reason")),
    (BaseExceptionGroup, ("message",)),
)
"""The classes whose text is made of more than their args, and of what."""
_SYNTAX = ("msg", "filename", "lineno", "offset", "text")
_MAX_PARTS, _LONGEST, _BIGGEST_BITS = 100, 100_000, 1024
_LOCALS = (dict, type((lambda: sys._getframe().f_locals)()))  # pyright: ignore[reportPrivateUsage]  the documented way
"""What the variables of a function come in: from Python 3.13 on in a view of their frame."""


def traceback_of(error: BaseException) -> TracebackType | None:
    """Return the way of an exception."""
    return _TRACEBACK(error)


def attributes_of(error: BaseException) -> dict[str, Any]:
    """Return all fields of an exception, and its first args as `args[0]` and so on."""
    args = {f"args[{at}]": arg for at, arg in enumerate(_ARGS(error)[:_MOST_ARGS])}
    # Of a class that is not written in Python, no fields are read.
    return args | (read_fields(error, private=True) or (_space_in(error),))[0]


def _space_in(error: BaseException) -> dict[str, Any]:
    space = _SPACE(error)
    return space if is_exactly(space, dict) and keys_are(str, space) else {}


def locals_of(frame: FrameType) -> dict[str, Any]:
    """Return all variables of a function; those of a module or cell are no locals."""
    held: Any = {} if frame.f_code.co_name == "<module>" else frame.f_locals
    items: list[tuple[Any, Any]] = list(held.copy().items()) if is_exactly(held, *_LOCALS) else []
    return {name: value for name, value in items if is_exactly(name, str)}


def notes_of(error: BaseException, most: int) -> list[str]:
    """Return the first of the notes that were added to an exception."""
    notes = _space_in(error).get("__notes__")
    kept = cast("list[Any]", notes)[:most] if is_exactly(notes, list) else []
    return [note for note in kept if is_exactly(note, str)]


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield what an exception came of, the nearest first; a circle once."""
    seen, at = {id(error)}, _cause_of(error)
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = _cause_of(at)


def _cause_of(error: BaseException) -> BaseException | None:
    cause = _CAUSE(error)
    return _CONTEXT(error) if cause is None and not _IS_SUPPRESSED(error) else cause


def leaves_of(error: BaseException, most: int = 10_000) -> list[BaseException]:
    """Return the exceptions in a group and in the groups in it; of any other, that one."""
    waiting, leaves = [error], list[BaseException]()
    while waiting and len(leaves) < most:
        one = waiting.pop()
        if is_of(one, BaseExceptionGroup):
            waiting.extend(reversed(_EXCEPTIONS(one)))
        else:
            leaves.append(one)
    return leaves


def read_syntax(error: BaseException) -> dict[str, Any]:
    """Return where a syntax error is and what is wrong; nothing for others."""
    if not is_of(error, SyntaxError):
        return {}
    read = {slot: SyntaxError.__dict__[slot].__get__(error) for slot in _SYNTAX}
    return {slot: value for slot, value in read.items() if is_exactly(value, str, int)}


def text_of(error: BaseException) -> str | None:
    """Return the text of an exception; None where only code of the person's would give it.

    That is where its class writes the text, or where it was raised with more than plain values.
    """
    if syntax := read_syntax(error):
        return syntax.get("msg")
    spaces = map(space_of, lineage(real_class(error)))
    write = next(space["__str__"] for space in spaces if "__str__" in space)
    try:
        more = [
            cls.__dict__[name].__get__(error)
            for cls, names in _TEXTS
            if is_of(error, cls)
            for name in names
        ]
    except (AttributeError, TypeError):  # a slot that was never set
        return None
    is_known = real_class(write) is WrapperDescriptorType
    args = () if is_of(error, BaseExceptionGroup) else _ARGS(error)
    return write(error) if is_known and _is_plain([*args, *more]) else None


def _is_plain(value: Any, depth: int = 3) -> bool:
    """Return whether the text of a value is short, and made by the interpreter alone."""
    if is_exactly(value, str, bytes):
        return len(value) <= _LONGEST
    if is_exactly(value, int):
        return value.bit_length() <= _BIGGEST_BITS
    if is_exactly(value, list, tuple) and depth and len(value) <= _MAX_PARTS:
        return all(_is_plain(part, depth - 1) for part in list(value))
    return is_exactly(value, bool, float, type(None))


def short_class_name(cls: type) -> str:
    """Return the name of a class; with its module where that is installed, or the name a builtin's.

    The module is left out else, for the module of a stories file has another name where another
    face loads it.
    """
    name = _place_in_file(cls)
    if getattr(builtins, name, None) is cls:
        return name
    return _full_name(cls) if is_installed(root_of(cls)) or hasattr(builtins, name) else name


def is_named(cls: type, name: str) -> bool:
    """Return whether a class or one of its bases has a name, with its module or without.

    The name of a builtin class means that class alone.
    """
    if isinstance(builtin := getattr(builtins, name, None), type):
        return builtin in cls.__mro__
    return any(name in (name_of(c), _place_in_file(c), _full_name(c)) for c in lineage(cls))


def _place_in_file(cls: type) -> str:
    """Return the name of a class with those of the classes around it, without a function's."""
    return qualname_of(cls).rpartition("<locals>.")[2]


def _full_name(cls: type) -> str:
    return f"{module_of(cls)}.{qualname_of(cls)}"
