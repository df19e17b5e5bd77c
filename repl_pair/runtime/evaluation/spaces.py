"""The names that sent code sees: a copy of the person's or their own; and what it changed there."""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

from repl_pair.records import mutable
from repl_pair.runtime.ipython import kernel_shell, user_namespace

Scope = Literal["scratch", "user"]
MAX_NAMES = 100
"""How many names of each kind are listed."""
_OF_THE_SHELL = re.compile(r"_+|_i+|_i?\d+|_[iod]h|In|Out|get_ipython|exit|quit")
"""The names that IPython sets after each cell of the person's, and finds as it left them."""
_LAST_ERROR = ("last_type", "last_value", "last_traceback", "last_exc")
"""What of `sys` a debugger looks at after an error of the person's."""
_MISSING: Any = object()


@mutable
class Space:
    """Where sent code runs; `persons` is the person's namespace, `before` what it was."""

    persons: dict[str, Any]
    before: Mapping[str, Any]
    globals: dict[str, Any]
    locals: dict[str, Any]
    last_error: Mapping[str, Any] = field(default_factory=lambda: _last_error())

    @property
    def assigned(self) -> dict[str, Any]:
        """Return what a scratch copy holds and the person's namespace did not."""
        if self.locals is self.persons:
            return {}
        return {n: v for n, v in self.locals.items() if self.before.get(n, _MISSING) is not v}

    def changes(self) -> dict[str, list[str]]:
        """Return the public names of the person's that were added, changed or removed since."""
        now, was = self.persons.copy(), self.before
        found = {
            "added": [n for n in now if n not in was],
            "changed": [n for n, v in now.items() if was.get(n, v) is not v],
            "removed": [n for n in was if n not in now],
        }
        return {slot: shown for slot, names in found.items() if (shown := _listed(names))}

    def put_back(self) -> None:
        """Give the shell back its own names, such as `_` and `Out`, and the last error."""
        names = filter(_is_of_the_shell, {**self.before, **self.persons})
        _put_back(self.persons, self.before, names)
        _put_back(sys.__dict__, self.last_error, _LAST_ERROR)


def open_space(scope: Scope) -> Space:
    """Return a new copy of the person's namespace, which nothing assigned leaves, or itself.

    A shell that stands in a function has globals beside its namespace.
    """
    persons = user_namespace()
    around = getattr(kernel_shell(), "user_global_ns", persons)
    before = persons.copy()
    copied = {**around, **before}
    its_globals, its_locals = (around, persons) if scope == "user" else (copied, copied)
    return Space(persons=persons, before=before, globals=its_globals, locals=its_locals)


def _last_error() -> dict[str, Any]:
    return {name: sys.__dict__[name] for name in _LAST_ERROR if name in sys.__dict__}


def _put_back(space: dict[str, Any], before: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if name not in before:
            space.pop(name, None)
        elif space.get(name, _MISSING) is not before[name]:
            space[name] = before[name]


def _listed(names: list[Any]) -> list[str]:
    """Return the names that are listed, and how many more there are."""
    public = sorted(n for n in names if type(n) is str and n[:1] != "_" and not _is_of_the_shell(n))
    more = len(public) - MAX_NAMES
    return [*public[:MAX_NAMES], *([f"… {more:,} more"] if more > 0 else [])]


def _is_of_the_shell(name: Any) -> bool:
    return type(name) is str and _OF_THE_SHELL.fullmatch(name) is not None
