"""repl_pair: an AI agent works beside you in your live Python kernel.

Imports go down only:

    cli | mcp_server        faces
    bridge                  any process that reaches a kernel
    runtime                 inside the kernel; standard library only
    wire | errors
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repl_pair.errors import ReplPairError as ReplPairError, VariantFailed as VariantFailed
from repl_pair.runtime.authoring.entries import Handle as Handle
from repl_pair.runtime.authoring.stories import (
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
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.marks import Sensitive
from repl_pair.version import VERSION

registry = REGISTRY
__version__ = VERSION

if TYPE_CHECKING:
    from repl_pair.panels.showing import show
    from repl_pair.runtime.authoring import check, step
    from repl_pair.runtime.authoring.composing import (
        decorator,
        derived as derived,
        handler as handler,
        panel as panel,
        workspace as workspace,
    )
    from repl_pair.runtime.authoring.entries import undo_agent as undo_agent
    from repl_pair.runtime.authoring.fixtures import fixture as fixture
    from repl_pair.runtime.clients.pausing import pause as pause, resume as resume
    from repl_pair.runtime.kernel.magics import (
        load_ipython_extension as load_ipython_extension,
        unload_ipython_extension as unload_ipython_extension,
    )
    from repl_pair.runtime.kernel.own_host import watch as watch
    from repl_pair.runtime.planning.explanation import explain as explain
    from repl_pair.runtime.planning.planner import snapshot_identity as snapshot_identity
    from repl_pair.runtime.registry.as_data import to_data as to_data
    from repl_pair.runtime.registry.outcomes import Verdict as Verdict
    from repl_pair.runtime.results.debugger import debug as debug
    from repl_pair.runtime.results.docs import docs as docs
    from repl_pair.runtime.results.links import parse_share_url as parse_share_url
    from repl_pair.runtime.results.record import RunRecord as RunRecord
    from repl_pair.runtime.results.share import share as share
    from repl_pair.runtime.running.effects import effect
    from repl_pair.runtime.running.live import live as live
    from repl_pair.runtime.running.recording import record as record
    from repl_pair.runtime.running.runner import arun, run
    from repl_pair.runtime.running.stubs import stub as stub
    from repl_pair.runtime.snapshots.judge import accept_snapshot as accept_snapshot
    from repl_pair.runtime.snapshots.review import write_review as write_review
    from repl_pair.runtime.sweeps.process_pool import process_pool as process_pool
    from repl_pair.runtime.sweeps.run_variants import (
        last_sweep as last_sweep,
        run_variants as run_variants,
    )

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

_MODULES = {
    "RunRecord": "results.record",
    "Verdict": "registry.outcomes",
    "accept_snapshot": "snapshots.judge",
    "arun": "running.runner",
    "check": "authoring.check",
    "debug": "results.debugger",
    "decorator": "authoring.composing",
    "derived": "authoring.composing",
    "docs": "results.docs",
    "effect": "running.effects",
    "explain": "planning.explanation",
    "fixture": "authoring.fixtures",
    "handler": "authoring.composing",
    "last_sweep": "sweeps.run_variants",
    "live": "running.live",
    "load_ipython_extension": "kernel.magics",
    "panel": "authoring.composing",
    "parse_share_url": "results.links",
    "pause": "clients.pausing",
    "process_pool": "sweeps.process_pool",
    "record": "running.recording",
    "resume": "clients.pausing",
    "run": "running.runner",
    "run_variants": "sweeps.run_variants",
    "share": "results.share",
    "show": ".panels.showing",
    "snapshot_identity": "planning.planner",
    "step": "authoring.step",
    "stub": "running.stubs",
    "to_data": "registry.as_data",
    "undo_agent": "authoring.entries",
    "unload_ipython_extension": "kernel.magics",
    "watch": "kernel.own_host",
    "workspace": "authoring.composing",
    "write_review": "snapshots.review",
}
"""The module of each name that is imported when it is first used, below `repl_pair.runtime`."""

_SUBMODULES = ("check", "step")

_ERRORS = ("ReplPairError", "VariantFailed")
_OTHERS = ("Handle", "__version__", "global_args", "global_decorators", "registry", *_ERRORS)
ATTRIBUTES = tuple(sorted({*_MODULES, *_OTHERS}.difference(__all__)))
"""What else the package offers, beside the names of `__all__`."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'repl_pair' has no attribute {name!r}")
    module = import_module(f".{_MODULES[name]}", "repl_pair.runtime")
    found = module if name in _SUBMODULES else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *ATTRIBUTES})
