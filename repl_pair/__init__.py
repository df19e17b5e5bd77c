"""repl_pair: an AI agent works beside you in your live Python kernel.

Imports go down only:

    cli | mcp_server        interfaces
    bridge                  any process that reaches a kernel
    runtime                 inside the kernel; standard library only
    wire | errors
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repl_pair.errors import ReplPairError as ReplPairError, VariantFailed as VariantFailed
    from repl_pair.panels.showing import show
    from repl_pair.runtime.authoring import check, step
    from repl_pair.runtime.authoring.composing import (
        decorator,
        derived as derived,
        handler as handler,
        panel as panel,
        workspace as workspace,
    )
    from repl_pair.runtime.authoring.entries import Handle as Handle, undo_agent as undo_agent
    from repl_pair.runtime.authoring.fixtures import fixture as fixture
    from repl_pair.runtime.authoring.shared import (
        assertion,
        global_args as global_args,
        global_decorators as global_decorators,
        loader,
        mode,
        ref,
        tag,
    )
    from repl_pair.runtime.authoring.stories import story, variant, variants as variants
    from repl_pair.runtime.clients.clients import pause as pause, resume as resume
    from repl_pair.runtime.kernel.embedded import embed as embed
    from repl_pair.runtime.kernel.magics import (
        load_ipython_extension as load_ipython_extension,
        unload_ipython_extension as unload_ipython_extension,
    )
    from repl_pair.runtime.kernel.own_host import watch as watch
    from repl_pair.runtime.planning.explanation import explain as explain
    from repl_pair.runtime.planning.planner import snapshot_identity as snapshot_identity
    from repl_pair.runtime.registry.as_data import to_data as to_data
    from repl_pair.runtime.registry.outcomes import Verdict as Verdict
    from repl_pair.runtime.registry.registry import REGISTRY
    from repl_pair.runtime.results.debugger import debug as debug
    from repl_pair.runtime.results.docs import docs as docs
    from repl_pair.runtime.results.links import parse_share_url as parse_share_url
    from repl_pair.runtime.results.record import RunRecord as RunRecord
    from repl_pair.runtime.results.sharing import share as share
    from repl_pair.runtime.running.effects import effect
    from repl_pair.runtime.running.live import live as live
    from repl_pair.runtime.running.recording import record as record
    from repl_pair.runtime.running.runner import arun, run
    from repl_pair.runtime.running.stubs import stub as stub
    from repl_pair.runtime.snapshots.assertions import accept_snapshot as accept_snapshot
    from repl_pair.runtime.snapshots.review import write_accepted as write_accepted
    from repl_pair.runtime.snapshots.serializers import serializer as serializer
    from repl_pair.runtime.surfaces.function_calls import Call as Call
    from repl_pair.runtime.surfaces.functions import function as function
    from repl_pair.runtime.surfaces.projections import (
        derive as derive,
        mapped as mapped,
        project as project,
    )
    from repl_pair.runtime.surfaces.publishing import surface as surface
    from repl_pair.runtime.sweeps.executors import process_pool as process_pool
    from repl_pair.runtime.sweeps.run_variants import (
        last_sweep as last_sweep,
        run_variants as run_variants,
    )
    from repl_pair.runtime.values.marks import Sensitive
    from repl_pair.version import VERSION

    registry, __version__ = REGISTRY, VERSION

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

_NAMES = """
.errors ReplPairError VariantFailed
.panels.showing show
authoring.check check
authoring.composing decorator derived handler panel workspace
authoring.entries Handle undo_agent
authoring.fixtures fixture
authoring.step step
authoring.shared assertion global_args global_decorators loader mode ref tag
authoring.stories story variant variants
clients.clients pause resume
kernel.embedded embed
kernel.magics load_ipython_extension unload_ipython_extension
kernel.own_host watch
planning.explanation explain
planning.planner snapshot_identity
registry.as_data to_data
registry.outcomes Verdict
registry.registry registry
results.debugger debug
results.docs docs
results.links parse_share_url
results.record RunRecord
results.sharing share
running.effects effect
running.live live
running.recording record
running.runner arun run
running.stubs stub
snapshots.assertions accept_snapshot
snapshots.review write_accepted
snapshots.serializers serializer
surfaces.function_calls Call
surfaces.functions function
surfaces.projections derive mapped project
surfaces.publishing surface
sweeps.executors process_pool
sweeps.run_variants last_sweep run_variants
values.marks Sensitive
.version __version__
"""
"""Each module below `repl_pair.runtime`, and its names; it is imported when one is first used."""

_MODULES = {
    name: module for module, *names in map(str.split, _NAMES.split("\n")[1:-1]) for name in names
}

_SUBMODULES = ("check", "step")
_CONSTANTS = {"registry": "REGISTRY", "__version__": "VERSION"}

ATTRIBUTES = tuple(sorted(_MODULES.keys() - __all__))
"""What else the package offers, beside the names of `__all__`."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'repl_pair' has no attribute {name!r}")
    if _MODULES[name].startswith(".panels") and getattr(__loader__, "injected", False):
        errors = import_module("repl_pair.errors")
        what = "Panels need repl_pair to be installed in this kernel's Python; an agent has shipped"
        raise errors.RequestError("cannot_run", f"{what} the part of it that answers agents.")
    module = import_module(f".{_MODULES[name]}", "repl_pair.runtime")
    found = module if name in _SUBMODULES else getattr(module, _CONSTANTS.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    # Tools that read all attributes of all modules, as freezegun does, would import everything.
    listed = (*__all__, *ATTRIBUTES) if hasattr(sys, "ps1") else ()
    return sorted({*globals(), *listed})
