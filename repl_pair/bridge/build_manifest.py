"""Writes the manifest of the built-in ops, and the module in which each stands.

`python -m repl_pair.bridge.build_manifest --write` brings both files up to date.
"""

import json
import pkgutil
import sys
from importlib import import_module, resources
from typing import Any

from repl_pair.bridge import ops as bridge_ops
from repl_pair.bridge.manifest import FILE
from repl_pair.runtime import ops
from repl_pair.runtime.kernel import host_ops
from repl_pair.runtime.ops.table import TABLE

_HEAD = '''"""The module of each op, which is imported when the op is first called.

Written by `make docs` from the modules of this package; a test compares.
"""

MODULES = {
'''


def build() -> list[dict[str, Any]]:
    """Build the descriptors as the two tables have them now, sorted by name."""
    assert host_ops, "importing it enters its ops"
    descriptors = [*bridge_ops.TABLE.describe(), *TABLE.describe()]
    return sorted(descriptors, key=lambda entry: entry["name"])


def build_modules() -> str:
    """Build the source of `runtime/ops/modules.py` from all modules of ops there are."""
    for module in pkgutil.iter_modules(ops.__path__, f"{ops.__name__}."):
        import_module(module.name)
    modules = {op.name: op.fn.__module__ for op in TABLE.ops()}
    lines = [
        f'    "{name}": "{module}",\n'
        for name, module in modules.items()
        if module.startswith(f"{ops.__name__}.")
    ]
    return f"{_HEAD}{''.join(lines)}}}\n"


def main() -> None:
    """Print the manifest, or write both files where they belong."""
    modules = build_modules()
    text = json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
    if "--write" not in sys.argv[1:]:
        sys.stdout.write(text)
        return
    with resources.as_file(resources.files("repl_pair.bridge") / FILE) as path:
        path.write_text(text, encoding="utf-8")
    with resources.as_file(resources.files(ops) / "modules.py") as path:
        path.write_text(modules, encoding="utf-8")


if __name__ == "__main__":
    main()
