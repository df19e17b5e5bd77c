"""What ships with the package: assertions, tags and decorators that are there from the start.

A new assertion is a function, a row here, and its builder in `authoring/check.py`.
"""

from collections.abc import Mapping

from repl_pair.records import replace
from repl_pair.runtime.registry.model import (
    AssertionSignature,
    Component,
    Decorator,
    Function,
    Origin,
    Tag,
)
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


_PATH = AssertionSignature(looks_at="path", plain_words=1)
_RESULT = AssertionSignature(looks_at="result")
_DERIVED = AssertionSignature(looks_at="derived")
_EVENT = AssertionSignature(looks_at="event")
_EFFECT = AssertionSignature(looks_at="effect")
_NO_VALUE = AssertionSignature()
_NO_COMPARISON = AssertionSignature(compares=False)

ASSERTIONS: Mapping[str, tuple[str, str, AssertionSignature]] = {
    "path_equals": ("assertions.at_path", "[path, expected]", _PATH),
    "path_matches": ("assertions.at_path", "[path, schema]", replace(_PATH, takes_patterns=True)),
    "derived_equals": ("assertions.events", "[derived, expected]", _DERIVED),
    "dispatched": ("assertions.events", "[event]", _EVENT),
    "state_is": ("assertions.at_path", "[path, state]", _PATH),
    "warns": ("assertions.events", "[category, {match}]", _NO_VALUE),
    "no_warnings": ("assertions.events", "[]", _NO_COMPARISON),
    "effect_emitted": ("assertions.events", "[id, payload?]", _EFFECT),
    "raises": (
        "assertions.events",
        "[exception, {match}]",
        AssertionSignature(takes_patterns=True),
    ),
    "result_equals": ("assertions.at_path", "[expected]", _RESULT),
    "compare": ("assertions.at_path", "[path, op, x]", replace(_PATH, plain_words=2)),
    "contains": ("assertions.at_path", "[path, item]", _PATH),
    "length": ("assertions.at_path", "[path, n]", _PATH),
    "approx": ("assertions.at_path", "[path, expected, {abs, rel}]", _PATH),
    "matches_snapshot": ("snapshots.assertions", "[name?, {tolerance}]", _NO_COMPARISON),
    "rendered_text": ("assertions.at_path", "[text]", replace(_RESULT, takes_patterns=True)),
    "within_ms": ("assertions.events", "[n]", _NO_VALUE),
    "no_secret": ("assertions.secrets", "[]", _NO_COMPARISON),
}
"""Of each assertion that ships: its module below `repl_pair.runtime`, its payload, its signature.

The module is imported when the assertion is first asked, or described.
"""


def register_builtins() -> None:
    """Enter what ships, with the origin `builtin`."""
    origin = Origin(key=BUILTIN, label="repl_pair", line=0)
    for id, doc in TAGS.items():
        tag = Tag(doc=doc, axis="state" if id.startswith("state/") else None)
        REGISTRY.register("tag", id, tag, origin=origin)
    REGISTRY.register("decorator", "force_fx_stub", FORCE_FX_STUB, origin=origin)
    for id, (module, takes, signature) in ASSERTIONS.items():
        component = Component(module=f"repl_pair.runtime.{module}", qualname=id)
        body = Function(component=component, takes=takes, signature=signature)
        REGISTRY.register("assertion", id, body, origin=origin)


register_builtins()
