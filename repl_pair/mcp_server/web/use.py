"""How a session is used: which requests are open, and how long there was none."""

import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


class Place:
    """One of the places of a kind that an agent has, in `taken` while anything holds it."""

    def __init__(self, taken: Counter[str], kind: str) -> None:
        self._taken, self._kind = taken, kind
        self._holders = 0

    def hold(self) -> Callable[[], None]:
        """Hold it until the undo, which may be called twice."""
        self._taken[self._kind] += not self._holders
        self._holders += 1
        held = [True]

        def release() -> None:
            if held:
                held.clear()
                self._holders -= 1
                self._taken[self._kind] -= not self._holders

        return release


@dataclass(kw_only=True, eq=False)
class Use:
    """How a session is used: how many requests are open, and when the last one ended."""

    open: int = 0
    last: float = field(default_factory=time.monotonic)

    def idle_s(self) -> float:
        """Return how long there was no request; 0 while there is one."""
        return 0.0 if self.open else time.monotonic() - self.last

    @contextmanager
    def held(self) -> Generator[None]:
        """Count a request for a block."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.last = time.monotonic()
