"""Files that several processes may write at once: each is written whole, under a lock."""

import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; its folder is there."""
    # Two processes may write at once.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            if path.exists():  # who may read it stays so
                draft.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Hold the lock of a folder, which ends with the process too."""
    if sys.platform == "win32":
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
        msvcrt.locking(lock, msvcrt.LK_LOCK, 1)
    else:
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)
