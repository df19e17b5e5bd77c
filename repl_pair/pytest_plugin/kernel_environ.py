"""What a kernel should not find in its environment when pytest starts it."""

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def out_of_test() -> Generator[None]:
    """Let a kernel be started as at a front end: in a test it would not catch file descriptors."""
    kept = os.environ.pop(_TEST, None)
    try:
        yield
    finally:
        if kept is not None:
            os.environ[_TEST] = kept


_TEST = "PYTEST_CURRENT_TEST"
