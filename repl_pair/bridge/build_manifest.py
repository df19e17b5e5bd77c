"""Writes the manifest of the built-in ops.

`python -m repl_pair.bridge.build_manifest --write` brings the file up to date.
"""

import json
import sys
from importlib import resources
from typing import Any

from repl_pair.bridge import ops
from repl_pair.bridge.manifest import FILE
from repl_pair.runtime.kernel import host_ops
from repl_pair.runtime.ops import rooms, table


def build() -> list[dict[str, Any]]:
    """Build the descriptors as the two tables have them now, sorted by name."""
    assert host_ops
    assert rooms
    found = [*ops.TABLE.describe(), *table.TABLE.describe()]
    return sorted(found, key=lambda entry: entry["name"])


def main() -> None:
    """Print the manifest, or write it where it belongs."""
    text = json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
    if "--write" in sys.argv[1:]:
        with resources.as_file(resources.files("repl_pair.bridge") / FILE) as path:
            path.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
