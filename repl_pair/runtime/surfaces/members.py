"""The handles by which an app changes what its members hold; from any thread, sync or async."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.errors import AuthoringError, error_text
from repl_pair.runtime.registry.origin import outside
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.fitting import checker, exact_types, is_same
from repl_pair.runtime.surfaces.patching import field_of, patched
from repl_pair.runtime.surfaces.secret_values import secret_places
from repl_pair.runtime.surfaces.state import LOCK, State
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.hints import read_hint

Equals = Callable[[Any, Any], bool]
"""Takes the old and the new value; what it finds equal is not published."""


class SurfaceWarning(UserWarning):
    """What a handle could not do as it was asked; the app goes on."""


class MemberHandle:
    """The base of the handles: the checks of a value before it is published."""

    __slots__ = ("_check", "_equals", "_exact", "_id", "_secret", "_state", "_warned")

    def __init__(self, id: str, state: State, hint: Any, equals: Equals | None = None) -> None:
        self._id, self._state, self._equals = id, state, equals
        self._secret = [*secret_places(id, hint)]
        # What may be a secret is never taken without the check, which learns it.
        exact = frozenset[int]() if self._secret else exact_types(read_hint(hint))
        self._check, self._exact = checker(hint), exact
        self._warned = False

    def __repr__(self) -> str:
        return f"<{self._state.kind} {self._id}>"

    def check(self, value: Any, where: str = "") -> None:
        """Raise AuthoringError `bad_body` for a value that does not fit the declared type."""
        if fault := self._check(value, self._id + where):
            raise AuthoringError("bad_body", f"{fault}. Nothing was changed.")
        if self._secret:
            # Of the apps that import this, few declare a secret: the walker is imported for these.
            from repl_pair.runtime.secrets.learning import learn_declared

            learn_declared(value, self._secret)

    def _is_equal(self, old: Any, new: Any) -> bool:
        """Ask the person's `equals`, without the lock; one that fails finds no two equal."""
        if self._equals is None or old is NOTHING:
            return False
        try:
            return bool(self._equals(old, new))
        except Exception as error:  # noqa: BLE001  it is the person's code
            self._warn(f"{self._id}: equals failed with {error_text(error)}; it was published.")
            return False

    def _report(self) -> None:
        """Report a change, after it was made."""
        state = self._state
        if state.watchers:
            state.announce()
        elif not state.ids and not self._warned:
            self._warned = True
            self._warn(
                f"This handle of {self._id} publishes nothing: the member left, or was declared "
                "anew. Use the handle of the latest declaration."
            )

    def _warn(self, text: str) -> None:
        warnings.warn(text, SurfaceWarning, stacklevel=outside()[1])


class Cell(MemberHandle):
    """One current value."""

    __slots__ = ()

    def get(self) -> Any:
        """Return the current value, None before the first one."""
        value = self._state.value
        return None if value is NOTHING else value

    def set(self, value: Any) -> None:
        """Publish a value, unless it equals the current one.

        What is changed in place is the same object, and so equal: set a new one, or use `patch`.
        AuthoringError `bad_body` for a value that does not fit the declared type.
        """
        if id(real_class(value)) not in self._exact:
            self.check(value)
        state = self._state
        if self._equals is not None and self._is_equal(state.value, value):
            return
        with LOCK:
            if self._equals is None and is_same(state.value, value):
                return
            state.value = value
            state.revision += 1
        if state.watchers or not state.ids:
            self._report()

    def patch(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Publish a copy of the value in which some fields are others, as one change.

        Takes the fields of a dict, a dataclass, a named tuple or a model; a cell without a value
        begins with an empty dict. Two threads that patch at once both count.
        """
        fields = {**(changes or {}), **more}
        is_made = False
        while not is_made:
            before = self._state.value
            made = patched(self._id, {} if before is NOTHING else before, fields)
            self.check(made)
            is_old = all(is_same(field_of(before, name), value) for name, value in fields.items())
            if is_old or self._is_equal(before, made):
                return
            with LOCK:
                is_made = self._state.value is before
                if is_made:
                    self._state.value = made
                    self._state.revision += 1
        self._report()


class _Log(MemberHandle):
    __slots__ = ()

    def _add(self, value: Any) -> None:
        if id(real_class(value)) not in self._exact:
            self.check(value)
        state = self._state
        with LOCK:
            state.revision += 1
            state.entries.append((state.revision, value))
        if state.watchers or not state.ids:
            self._report()


class Stream(_Log):
    """Values one after the other; the last ones are kept, with which a reader begins."""

    __slots__ = ()

    def push(self, value: Any) -> None:
        """Publish one more value; AuthoringError `bad_body` for one that does not fit."""
        self._add(value)


class Event(_Log):
    """Something that happens, with what is known of it; the last 100 are kept."""

    __slots__ = ()

    def emit(self, value: Any = None) -> None:
        """Let it happen; AuthoringError `bad_body` for a value that does not fit."""
        self._add(value)
