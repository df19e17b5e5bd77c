"""The assertions that ship with the package, entered in the order in which they are told."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.event_assertions import (
    derived_equals,
    dispatched,
    effect_emitted,
    no_warnings,
    raises,
    within_ms,
)
from repl_pair.runtime.model import Component, Function, Origin
from repl_pair.runtime.origin import BUILTIN
from repl_pair.runtime.output_assertions import matches_snapshot, no_secret, rendered_text
from repl_pair.runtime.path_assertions import (
    approx,
    compare,
    contains,
    length,
    path_equals,
    path_matches,
    result_equals,
    state_is,
)
from repl_pair.runtime.registry import REGISTRY

CANONICAL: tuple[Callable[..., Any], ...] = (
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
    for fn in CANONICAL:
        doc = fn.__doc__ or ""
        # Reading signatures is dear at import; the doc begins with what it takes, in backticks.
        body = Function(component=Component.of(fn), doc=doc, takes=doc[1 : doc.index("`", 1)])
        REGISTRY.register("assertion", fn.__name__, body, origin=origin)


register_builtins()
