"""repl_pair: an AI agent works beside you in your live Python kernel.

The floors, imports going down only:

    cli | mcp_server        faces
    bridge                  any process that reaches a kernel
    runtime                 inside the kernel; standard library only
    wire | errors
"""

from typing import TYPE_CHECKING, Any

from repl_pair.errors import ReplPairError, VariantFailed
from repl_pair.runtime import check
from repl_pair.runtime.authoring import (
    Handle,
    assertion,
    global_args,
    loader,
    mode,
    ref,
    story,
    tag,
    variant,
)
from repl_pair.runtime.magics import load_ipython_extension, unload_ipython_extension
from repl_pair.runtime.model import RunRecord, Verdict
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.plan import snapshot_identity
from repl_pair.runtime.registry import REGISTRY as registry
from repl_pair.runtime.runner import arun, run
from repl_pair.runtime.secrets import Sensitive
from repl_pair.version import VERSION as __version__

if TYPE_CHECKING:
    from repl_pair.runtime.stubs import stub

__all__ = [
    "Handle",
    "ReplPairError",
    "RunRecord",
    "Sensitive",
    "VariantFailed",
    "Verdict",
    "__version__",
    "arun",
    "assertion",
    "check",
    "global_args",
    "load_ipython_extension",
    "loader",
    "mode",
    "op",
    "ref",
    "registry",
    "run",
    "snapshot_identity",
    "story",
    "stub",
    "tag",
    "unload_ipython_extension",
    "variant",
]


def __getattr__(name: str) -> Any:
    if name != "stub":
        raise AttributeError(f"module 'repl_pair' has no attribute {name!r}")
    # Every kernel pays for what is imported above, and few runs stub anything.
    from repl_pair.runtime.stubs import stub

    globals()["stub"] = stub
    return stub


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
