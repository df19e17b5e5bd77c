"""How a session is used: whether a request of it is open, and how long there was none."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


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
