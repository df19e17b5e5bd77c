"""The handles by which an app changes what its members hold; from any thread, sync or async."""

import warnings
from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping, ValuesView
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


class Collection(MemberHandle, MutableMapping[str, Any]):
    """Current values by key: a mapping whose keys are text; what is read of it is a copy."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return self._state.items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._state.items

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._state.items))

    def __len__(self) -> int:
        return len(self._state.items)

    def items(self) -> ItemsView[str, Any]:
        """Return keys and values as they are now."""
        return self._state.items.copy().items()

    def values(self) -> ValuesView[Any]:
        """Return the values as they are now."""
        return self._state.items.copy().values()

    def __setitem__(self, key: str, value: Any) -> None:
        """Publish one item; AuthoringError `bad_body` for what does not fit."""
        self._check_item(key, value)
        state = self._state
        old = state.items.get(key, NOTHING)
        if self._equals is not None and self._is_equal(old, value):
            return
        with LOCK:
            if not self._put(key, value):
                return
            state.revision += 1
        self._report()

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def pop(self, key: str, default: Any = NOTHING) -> Any:
        """Remove an item and return it; without one the default, else KeyError."""
        with LOCK:
            found = self._remove(key) if default is NOTHING or key in self else NOTHING
        if found is NOTHING:
            return default
        self._report()
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the first item and return its key and value; KeyError without one."""
        with LOCK:
            if (key := next(iter(self), None)) is None:
                raise KeyError(f"{self._id} is empty")
            found = self._remove(key)
        self._report()
        return key, found

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return an item; where it is not there, the default is published as it."""
        if (found := self.get(key, NOTHING)) is not NOTHING:
            return found
        self._check_item(key, default)
        with LOCK:
            if key in self:
                return self[key]
            self._put(key, default)
            self._state.revision += 1
        self._report()
        return default

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Publish several items as one change; where one does not fit, none is published."""
        given = dict(other, **more)
        for key, value in given.items():
            self._check_item(key, value)
        items = self._state.items
        unequal = [(k, v) for k, v in given.items() if not self._is_equal(items.get(k, NOTHING), v)]
        with LOCK:
            changed = [key for key, value in unequal if self._put(key, value)]
            if not changed:
                return
            self._state.revision += 1
        self._report()

    def clear(self) -> None:
        """Remove all items as one change."""
        state = self._state
        with LOCK:
            if not state.items:
                return
            state.note_removal(state.items)
            state.items.clear()
            state.revisions.clear()
        self._report()

    def _check_item(self, key: Any, value: Any) -> None:
        if type(key) is not str:
            what = f"A key of {self._id} is text, not {type(key).__name__}."
            raise AuthoringError("bad_body", what)
        if id(real_class(value)) not in self._exact:
            self.check(value, f"[{key!r}]")

    def _remove(self, key: str) -> Any:
        """Take an item out, under LOCK; KeyError where it is not there."""
        state = self._state
        found = state.items.pop(key)
        del state.revisions[key]
        state.note_removal((key,))
        return found

    def _put(self, key: str, value: Any) -> bool:
        """Put an item, under LOCK, whose change the caller counts; False if it is there already."""
        state = self._state
        old = state.items.get(key, NOTHING)
        if self._equals is None and is_same(old, value):
            return False
        if old is NOTHING:
            state.keys_revision = state.revision + 1
        state.items[key], state.revisions[key] = value, state.revision + 1
        return True


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
