"""Runtime files of Jupyter's that hold keys and tokens: read only if they are our own user's."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

_LARGEST = 65_536
"""No runtime file is larger; what a command line names as one may be."""


def read_own(path: Path) -> Mapping[str, Any] | None:
    """Return the JSON object in a file of our user's; None for anything else, which is not read."""
    return None if fault_of(path) else _read(path)


def fault_of(path: Path) -> str | None:
    """Describe why a file is not read; None if it is."""
    try:
        found = path.stat()
    except OSError as error:
        return error.strerror or "it cannot be seen"
    if not stat.S_ISREG(found.st_mode):
        return "it is no file"
    # Windows knows no such owner: there a profile's files are legible to its user alone.
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        return "it belongs to another user"
    if found.st_size > _LARGEST:
        return f"it is larger than {_LARGEST} bytes"
    return None if os.access(path, os.R_OK) else "it may not be read"


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
