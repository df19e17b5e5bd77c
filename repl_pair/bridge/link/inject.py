"""Shipping the runtime into a kernel whose Python lacks the package: its source, as text.

The runtime is standard library only, so this works in any Python that is recent enough.
"""

import base64
import json
import zlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from repl_pair.bridge.link.silent_execute import IMPORT
from repl_pair.version import VERSION

PACKAGE = "repl_pair"
PARTS = (
    "__init__.py",
    "errors.py",
    "key_forms.py",
    "records.py",
    "version.py",
    "wire.py",
    "runtime",
)
FILES = f"<{PACKAGE} {VERSION}, injected>"
"""The folder in the file names of shipped modules."""

# Names that the person may have shadowed are not used, and none is left in their namespace.
_LOAD = """\
(lambda builtins, shipped: (
    lambda scope: builtins.exec(shipped["bootstrap"], scope) or scope["load"](*shipped["package"])
)({"__name__": "repl_pair_bootstrap", "__builtins__": builtins}))(
    %(load)s("builtins"),
    %(load)s("json").loads(
        %(load)s("zlib").decompress(%(load)s("base64").b64decode(%(shipped)r)).decode("utf-8")
    ),
)"""


@cache
def expression() -> str:
    """Return the expression that loads the runtime where it is evaluated, and is None there."""
    bootstrap = files("repl_pair.bridge.link").joinpath("bootstrap.py").read_text("utf-8")
    shipped = json.dumps({"bootstrap": bootstrap, "package": [PACKAGE, sources()]})
    packed = base64.b64encode(zlib.compress(shipped.encode())).decode()
    return _LOAD % {"load": IMPORT, "shipped": packed}


def sources() -> dict[str, tuple[str, str]]:
    """Return the modules of the runtime: `{module: (file, source)}`, packages first."""
    found: dict[str, tuple[str, str]] = {}
    for part in PARTS:
        _collect(found, files(PACKAGE).joinpath(part), PACKAGE)
    return found


def _collect(found: dict[str, tuple[str, str]], part: Traversable, package: str) -> None:
    if part.is_dir():
        inner = sorted(part.iterdir(), key=lambda each: (each.name != "__init__.py", each.name))
        for each in inner:
            _collect(found, each, f"{package}.{part.name}")
    elif part.name.endswith(".py"):
        stem = part.name.removesuffix(".py")
        name = package if stem == "__init__" else f"{package}.{stem}"
        found[name] = f"{FILES}/{package.replace('.', '/')}/{part.name}", part.read_text("utf-8")
