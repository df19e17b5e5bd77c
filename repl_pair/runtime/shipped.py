"""What ships with the package: assertions, tags and decorators that are there from the start."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.assertions.at_path import (
    approx,
    compare,
    contains,
    length,
    path_equals,
    path_matches,
    rendered_text,
    result_equals,
    state_is,
)
from repl_pair.runtime.assertions.events import (
    derived_equals,
    dispatched,
    effect_emitted,
    no_warnings,
    raises,
    within_ms,
)
from repl_pair.runtime.registry.model import Component, Decorator, Function, Origin, Tag
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.snapshots.assertion import matches_snapshot, no_secret

TAGS: dict[str, str] = {
    "agent": "of interest to an agent",
    "dev": "shown while developing",
    "docs": "shown in the documentation",
    "experimental": "may change",
    "internal": "not for the component's users",
    "screenshot": "has a picture worth keeping",
    "state/empty": "the component with nothing in it",
    "state/large": "the component with much in it",
    "state/medium": "the component with a usual amount in it",
    "state/small": "the component with little in it",
    "state/special": "the component in an unusual state",
    "test": "run in continuous integration",
}


FORCE_FX_STUB = Decorator(
    kind="fx_override",
    doc='Answer for an effect: ["force_fx_stub", {"effect": id, "response": value}], or '
    '"responses": [...], one a call.',
)


_BUILTIN = Origin(key="builtin", label="repl_pair", line=0)


for _id, _doc in TAGS.items():
    _tag = Tag(doc=_doc, axis="state" if _id.startswith("state/") else None)
    REGISTRY.register("tag", _id, _tag, origin=_BUILTIN)


REGISTRY.register("decorator", "force_fx_stub", FORCE_FX_STUB, origin=_BUILTIN)


ASSERTIONS: tuple[Callable[..., Any], ...] = (
    path_equals,
    path_matches,
    derived_equals,
    dispatched,
    state_is,
    no_warnings,
    effect_emitted,
    raises,
    result_equals,
    compare,
    contains,
    length,
    approx,
    matches_snapshot,
    rendered_text,
    within_ms,
    no_secret,
)


def register_builtins() -> None:
    """Enter the assertions that ship."""
    origin = Origin(key=BUILTIN, label="repl_pair", line=0)
    for fn in ASSERTIONS:
        doc = fn.__doc__ or ""
        # Reading signatures is dear at import; the doc begins with what it takes, in backticks.
        body = Function(component=Component.of(fn), doc=doc, takes=doc[1 : doc.index("`", 1)])
        REGISTRY.register("assertion", fn.__name__, body, origin=origin)


register_builtins()
