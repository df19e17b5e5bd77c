"""Writes the manifest of the built-in ops, and the module in which each stands.

`python -m repl_pair.bridge.build_manifest --write` brings both files up to date.
"""

import json
import pkgutil
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

from repl_pair.bridge import ops as bridge_ops
from repl_pair.bridge.manifest import FILE
from repl_pair.runtime import ops
from repl_pair.runtime.kernel import host_ops
from repl_pair.runtime.op_base import modules as written
from repl_pair.runtime.op_base.descriptors import build_descriptors
from repl_pair.runtime.op_base.table import TABLE


def build() -> list[dict[str, Any]]:
    """Build the descriptors as the two tables have them now, sorted by name."""
    descriptors = [*build_descriptors(bridge_ops.TABLE), *build_descriptors(TABLE)]
    return sorted(descriptors, key=lambda entry: entry["name"])


def build_modules() -> str:
    """Build the source of `runtime/op_base/modules.py` from all modules of ops there are."""
    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        import_module(module.name)
    assert host_ops, "importing it registers its ops"
    names: dict[str, list[str]] = {}
    for op in TABLE.ops():
        names.setdefault(op.fn.__module__.removeprefix("repl_pair.runtime."), []).append(op.name)
    lines = [
        f"{module} {text}\n"
        for module, own in sorted(names.items())
        for text in textwrap.wrap(" ".join(own), 99 - len(module))
    ]
    source = Path(written.__file__).read_text(encoding="utf-8")
    return source.replace(written.OPS, "".join(lines))


def main() -> None:
    """Print the manifest, or write both files where they belong."""
    modules = build_modules()
    text = json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
    if "--write" not in sys.argv[1:]:
        sys.stdout.write(text)
        return
    Path(__file__).with_name(FILE).write_text(text, encoding="utf-8")
    Path(written.__file__).write_text(modules, encoding="utf-8")


if __name__ == "__main__":
    main()
