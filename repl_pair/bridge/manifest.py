"""The built-in ops as data, so that what a face lists never depends on a connection.

`python -m repl_pair.bridge.build_manifest --write` brings the file up to date.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

FILE = "manifest.json"


@cache
def load() -> tuple[dict[str, Any], ...]:
    """Return the descriptors of all built-in ops, internal ones too, sorted by name."""
    text = resources.files(__package__ or "repl_pair.bridge").joinpath(FILE).read_text("utf-8")
    return tuple(json.loads(text))


def reads(op: str) -> bool:
    """Return whether a built-in op only reads, so that it may be called twice."""
    return any(entry["name"] == op and entry["access"] in ("read", "inspect") for entry in load())
