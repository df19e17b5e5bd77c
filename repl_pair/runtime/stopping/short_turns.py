"""Short turns of the interpreter lock, for imports beside code of the person that loops."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

TURN_S = 1e-4
_SHORT_S = 2 * TURN_S
"""The interpreter keeps whole microseconds, rounded down: what is set is not what is read."""


@contextmanager
def short_turns() -> Generator[None]:
    """Let all threads return the interpreter lock after 0.1 ms, during the block.

    Every file that is imported releases the lock, and a thread that loops returns it only after
    the switch interval: seconds, for many files. The lock's interval belongs to the process.
    """
    before = sys.getswitchinterval()
    if before < _SHORT_S:
        yield
        return
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        if sys.getswitchinterval() < _SHORT_S:
            sys.setswitchinterval(before)
