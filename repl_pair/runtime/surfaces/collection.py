"""The handle of a member that holds many values by key; from any thread, sync or async."""

from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.fitting import is_same
from repl_pair.runtime.surfaces.members import MemberHandle
from repl_pair.runtime.surfaces.state import LOCK
from repl_pair.runtime.values.classes import real_class


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
