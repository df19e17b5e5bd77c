"""The handles by which an app changes what its members hold; from any thread."""

from typing import Any

from repl_pair.runtime.surfaces.state import LOCK, NOTHING, State


class Cell:
    """One current value."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self) -> Any:
        """Return the current value, None before the first one."""
        value = self._state.value
        return None if value is NOTHING else value

    def set(self, value: Any) -> None:
        """Give the cell a value."""
        state = self._state
        with LOCK:
            state.value = value
            state.note_change()
        if state.watchers:
            state.announce()
