"""The built-in ops as data, so that what an interface lists never depends on a connection.

`python -m repl_pair.bridge.build_manifest --write` brings the file up to date.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

FILE = "manifest.json"
MANAGE = "manage"
"""The toolset of the ops about what a session keeps running."""
APPROVAL = "approval"
"""The toolset of the ops about the person's approval."""


@cache
def load() -> tuple[dict[str, Any], ...]:
    """Return the descriptors of all built-in ops, internal ones too, sorted by name."""
    text = resources.files(__package__ or "repl_pair.bridge").joinpath(FILE).read_text("utf-8")
    return tuple(json.loads(text))


@cache
def takes_kernel(op: str) -> bool:
    """Return whether calls of an op name a kernel: all do but some that the bridge answers."""
    known = find(op)
    own = known.get("input_schema", {}).get("properties", {})
    return "kernel" in own or known.get("toolset") not in ("kernel", APPROVAL, MANAGE)


@cache
def by_name() -> Mapping[str, Mapping[str, Any]]:
    """Return the same descriptors by name."""
    return {entry["name"]: entry for entry in load()}


def find(op: str) -> Mapping[str, Any]:
    """Return the descriptor of a built-in op, an empty one for any other name."""
    return by_name().get(op, {})


@cache
def of_toolset(toolset: str) -> frozenset[str]:
    """Return the names of the ops of a toolset."""
    return frozenset(entry["name"] for entry in load() if entry["toolset"] == toolset)


def reads(op: str) -> bool:
    """Return whether a built-in op only reads, so that it may be called twice."""
    return find(op).get("access") in ("read", "inspect")
