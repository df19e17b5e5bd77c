"""What ships with the package: assertions, tags and decorators that are there from the start.

A new assertion is a function, a row here, and its builder in `authoring/check.py`.
"""

from collections.abc import Mapping

from repl_pair.runtime.registry.model import Component, Decorator, Function, Origin, Tag
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY

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


ASSERTIONS: Mapping[str, tuple[str, str]] = {
    "path_equals": ("assertions.at_path", "[path, expected]"),
    "path_matches": ("assertions.at_path", "[path, schema]"),
    "derived_equals": ("assertions.events", "[derived, expected]"),
    "dispatched": ("assertions.events", "[event]"),
    "state_is": ("assertions.at_path", "[path, state]"),
    "warns": ("assertions.events", "[category, {match}]"),
    "no_warnings": ("assertions.events", "[]"),
    "effect_emitted": ("assertions.events", "[id, payload?]"),
    "raises": ("assertions.events", "[exception, {match}]"),
    "result_equals": ("assertions.at_path", "[expected]"),
    "compare": ("assertions.at_path", "[path, op, x]"),
    "contains": ("assertions.at_path", "[path, item]"),
    "length": ("assertions.at_path", "[path, n]"),
    "approx": ("assertions.at_path", "[path, expected, {abs, rel}]"),
    "matches_snapshot": ("snapshots.assertions", "[name?, {tolerance}]"),
    "rendered_text": ("assertions.at_path", "[text]"),
    "within_ms": ("assertions.events", "[n]"),
    "no_secret": ("snapshots.assertions", "[]"),
}
"""The module below `repl_pair.runtime` of each assertion that ships, and its payload in words.

The module is imported when the assertion is first asked, or described.
"""


def register_builtins() -> None:
    """Enter what ships, with the origin `builtin`."""
    origin = Origin(key=BUILTIN, label="repl_pair", line=0)
    for id, doc in TAGS.items():
        tag = Tag(doc=doc, axis="state" if id.startswith("state/") else None)
        REGISTRY.register("tag", id, tag, origin=origin)
    REGISTRY.register("decorator", "force_fx_stub", FORCE_FX_STUB, origin=origin)
    for id, (module, takes) in ASSERTIONS.items():
        component = Component(module=f"repl_pair.runtime.{module}", qualname=id)
        REGISTRY.register(
            "assertion", id, Function(component=component, takes=takes), origin=origin
        )


register_builtins()
