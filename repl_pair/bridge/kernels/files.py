"""Jupyter's runtime files, which hold keys and tokens: read only if our own user owns them."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

_LARGEST = 65_536
"""Runtime files are smaller; other files that a command line names may be larger."""


def read_own(path: Path) -> Mapping[str, Any] | None:
    """Return the JSON object in a file of our user's; None for anything else, which is not read."""
    if fault_of(path):
        return None
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def fault_of(path: Path) -> str | None:
    """Describe why a file is not read; None if it is."""
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or "it cannot be seen"
    if not stat.S_ISREG(status.st_mode):
        return "it is no file"
    # Windows has no such owner: there only the user can read the files of a profile.
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_size > _LARGEST:
        return f"it is larger than {_LARGEST} bytes"
    return None if os.access(path, os.R_OK) else "it may not be read"
