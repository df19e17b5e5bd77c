"""The built-in ops as data, so that what a face lists never depends on a connection.

`python -m repl_pair.bridge.manifest --write` brings the file up to date.
"""

import json
import sys
from functools import cache
from importlib import resources
from typing import Any

from repl_pair.bridge import ops
from repl_pair.runtime.ops import table

_FILE = "manifest.json"


@cache
def load() -> tuple[dict[str, Any], ...]:
    """Give the descriptors of all built-in ops, internal ones too, sorted by name."""
    text = resources.files(__package__ or "repl_pair.bridge").joinpath(_FILE).read_text("utf-8")
    return tuple(json.loads(text))


def reads(op: str) -> bool:
    """Say whether a built-in op only reads, so that asking it twice does no harm."""
    return any(entry["name"] == op and entry["access"] in ("read", "inspect") for entry in load())


def build() -> list[dict[str, Any]]:
    """Give the descriptors as the two tables have them now."""
    # Only who builds the manifest needs every room.
    from repl_pair.runtime.kernel import host_ops
    from repl_pair.runtime.ops import rooms

    assert host_ops
    assert rooms
    found = [*ops.TABLE.describe(), *table.TABLE.describe()]
    return sorted(found, key=lambda entry: entry["name"])


def main() -> None:
    """Print the manifest, or write it where it belongs."""
    text = json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
    if "--write" in sys.argv[1:]:
        with resources.as_file(resources.files("repl_pair.bridge") / _FILE) as path:
            path.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
