"""repl_pair: an AI agent works beside you in your live Python kernel.

The floors, imports going down only:

    cli | mcp_server        faces
    bridge                  any process that reaches a kernel
    runtime                 inside the kernel; standard library only
    wire | errors
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repl_pair.errors import ReplPairError as ReplPairError, VariantFailed as VariantFailed
from repl_pair.runtime import check
from repl_pair.runtime.authoring import (
    assertion,
    global_args as global_args,
    global_decorators as global_decorators,
    loader,
    mode,
    ref,
    story,
    tag,
    variant,
)
from repl_pair.runtime.entries import Handle as Handle
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import Sensitive
from repl_pair.version import VERSION

registry = REGISTRY
__version__ = VERSION

if TYPE_CHECKING:
    from repl_pair.panels.showing import show
    from repl_pair.runtime import step
    from repl_pair.runtime.body_data import to_data as to_data
    from repl_pair.runtime.composing import (
        decorator,
        derived as derived,
        handler as handler,
        panel as panel,
        workspace as workspace,
    )
    from repl_pair.runtime.debugger import debug as debug
    from repl_pair.runtime.effects import effect
    from repl_pair.runtime.explanation import explain as explain
    from repl_pair.runtime.fixtures import fixture as fixture
    from repl_pair.runtime.identity import snapshot_identity as snapshot_identity
    from repl_pair.runtime.live_objects import live as live
    from repl_pair.runtime.magics import (
        load_ipython_extension as load_ipython_extension,
        unload_ipython_extension as unload_ipython_extension,
    )
    from repl_pair.runtime.ops.table import op as op
    from repl_pair.runtime.outcomes import Verdict as Verdict
    from repl_pair.runtime.own_host import watch as watch
    from repl_pair.runtime.pausing import pause as pause, resume as resume
    from repl_pair.runtime.pools import process_pool as process_pool
    from repl_pair.runtime.recording import record as record
    from repl_pair.runtime.run_record import RunRecord as RunRecord
    from repl_pair.runtime.runner import arun, run
    from repl_pair.runtime.share_url import parse_share_url as parse_share_url
    from repl_pair.runtime.sharing import share as share
    from repl_pair.runtime.snapshot_review import write_review as write_review
    from repl_pair.runtime.snapshots import accept_snapshot as accept_snapshot
    from repl_pair.runtime.story_docs import docs as docs
    from repl_pair.runtime.stubs import stub as stub
    from repl_pair.runtime.sweeping import last_sweep as last_sweep, run_variants as run_variants
    from repl_pair.runtime.undoing import undo_agent as undo_agent

__all__ = [
    "Sensitive",
    "arun",
    "assertion",
    "check",
    "decorator",
    "effect",
    "loader",
    "mode",
    "ref",
    "run",
    "show",
    "step",
    "story",
    "tag",
    "variant",
]

ATTRIBUTES = (
    "Handle",
    "ReplPairError",
    "RunRecord",
    "VariantFailed",
    "Verdict",
    "__version__",
    "accept_snapshot",
    "debug",
    "derived",
    "docs",
    "explain",
    "fixture",
    "global_args",
    "global_decorators",
    "handler",
    "last_sweep",
    "live",
    "load_ipython_extension",
    "op",
    "panel",
    "parse_share_url",
    "pause",
    "process_pool",
    "record",
    "registry",
    "resume",
    "run_variants",
    "share",
    "snapshot_identity",
    "stub",
    "to_data",
    "undo_agent",
    "unload_ipython_extension",
    "watch",
    "workspace",
    "write_review",
)
"""What else the package offers, beside the names of `__all__`."""

_LATER = {
    "RunRecord": "run_record",
    "Verdict": "outcomes",
    "accept_snapshot": "snapshots",
    "arun": "runner",
    "debug": "debugger",
    "decorator": "composing",
    "derived": "composing",
    "docs": "story_docs",
    "effect": "effects",
    "explain": "explanation",
    "fixture": "fixtures",
    "handler": "composing",
    "last_sweep": "sweeping",
    "live": "live_objects",
    "load_ipython_extension": "magics",
    "op": "ops.table",
    "panel": "composing",
    "parse_share_url": "share_url",
    "pause": "pausing",
    "process_pool": "pools",
    "record": "recording",
    "resume": "pausing",
    "run": "runner",
    "run_variants": "sweeping",
    "share": "sharing",
    "show": ".panels.showing",
    "snapshot_identity": "identity",
    "step": "step",
    "stub": "stubs",
    "to_data": "body_data",
    "undo_agent": "undoing",
    "unload_ipython_extension": "magics",
    "watch": "own_host",
    "workspace": "composing",
    "write_review": "snapshot_review",
}
"""What is imported when it is first used: every kernel pays for what is imported above."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'repl_pair' has no attribute {name!r}")
    room = import_module(f".{_LATER[name]}", "repl_pair.runtime")
    found = room if name == _LATER[name] else getattr(room, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *ATTRIBUTES})
