"""What ships with the package: assertions, tags and decorators that are there from the start.

A new assertion is a function, a row here, and its builder in `authoring/check.py`.
"""

from repl_pair.records import row
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


@row
class ShippedAssertion:
    """An assertion that ships: the function of its name in `module`, imported at its first use.

    `takes` and `doc` repeat the function's docstring: "`takes`: doc".
    """

    id: str
    module: str
    takes: str
    doc: str


ASSERTIONS = (
    ShippedAssertion(
        "path_equals",
        "assertions.at_path",
        "[path, expected]",
        "the value at the path equals the expected one, by content.",
    ),
    ShippedAssertion(
        "path_matches",
        "assertions.at_path",
        "[path, schema]",
        "the value at the path, as JSON, fits the JSON Schema.",
    ),
    ShippedAssertion(
        "derived_equals",
        "assertions.events",
        "[derived, expected]",
        "what this id, or `[id, {args}]`, derives of the state equals it.",
    ),
    ShippedAssertion(
        "dispatched",
        "assertions.events",
        "[event]",
        "since play began this was dispatched: a name, or `[name, {whole payload}]`.",
    ),
    ShippedAssertion(
        "state_is",
        "assertions.at_path",
        "[path, state]",
        "in the state, the machine or value at the path is in this state. A machine says so in its "
        "`state`; members of an Enum go by name or value.",
    ),
    ShippedAssertion(
        "no_warnings",
        "assertions.events",
        "[]",
        "nothing was warned of during the run; takes lane main, which can record warnings.",
    ),
    ShippedAssertion(
        "effect_emitted",
        "assertions.events",
        "[id, payload?]",
        "the run emitted this effect, with at least these items in its payload. A stubbed effect "
        "counts too.",
    ),
    ShippedAssertion(
        "raises",
        "assertions.events",
        "[exception, {match}]",
        "the component or the step before raised this, or a subclass of it. `exception` is the "
        "name of its class; `match` a pattern to be found in the message. The run goes on behind "
        "it.",
    ),
    ShippedAssertion(
        "result_equals",
        "assertions.at_path",
        "[expected]",
        "the component returned what equals this, by content.",
    ),
    ShippedAssertion(
        "compare",
        "assertions.at_path",
        "[path, op, x]",
        "the value is `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not_in` or `is_close`. An array or "
        "frame is, if each of its items is.",
    ),
    ShippedAssertion(
        "contains",
        "assertions.at_path",
        "[path, item]",
        "the text, mapping's keys, frame's columns or other items hold this one.",
    ),
    ShippedAssertion(
        "length",
        "assertions.at_path",
        "[path, n]",
        "the value has n items, or as many as `{min, max}` say, both included.",
    ),
    ShippedAssertion(
        "approx",
        "assertions.at_path",
        "[path, expected, {abs, rel}]",
        "numbers anywhere in the value are near, the rest equals. Two numbers are near if they "
        "differ by at most `abs` (1e-12), or by `rel` (1e-6) of the larger; with `abs` alone there "
        "is no `rel`. Arrays and frames are compared by items, whatever dtype.",
    ),
    ShippedAssertion(
        "matches_snapshot",
        "snapshots.judge",
        "[name?, {tolerance}]",
        "result and outputs are as in the stored snapshot of this variant. A missing one fails; "
        "the person accepts what the last run gave. `tolerance` is the share of an image's pixels, "
        "0 to 1, that may look different.",
    ),
    ShippedAssertion(
        "rendered_text",
        "assertions.at_path",
        "[text]",
        "what was displayed is this text, or holds what the pattern of `{match}` finds. Counts the "
        "text form of each output, else of the result; blanks around it do not count.",
    ),
    ShippedAssertion(
        "within_ms",
        "assertions.events",
        "[n]",
        "render took at most so many milliseconds.",
    ),
    ShippedAssertion(
        "no_secret",
        "snapshots.judge",
        "[]",
        "no known secret stands in anything that the run put out; the places are named. That "
        "is result, outputs, stdout, stderr, logs, warnings and effects.",
    ),
)


def register_builtins() -> None:
    """Enter what ships, with the origin `builtin`."""
    origin = Origin(key=BUILTIN, label="repl_pair", line=0)
    for id, doc in TAGS.items():
        tag = Tag(doc=doc, axis="state" if id.startswith("state/") else None)
        REGISTRY.register("tag", id, tag, origin=origin)
    REGISTRY.register("decorator", "force_fx_stub", FORCE_FX_STUB, origin=origin)
    for one in ASSERTIONS:
        component = Component(module=f"repl_pair.runtime.{one.module}", qualname=one.id)
        body = Function(component=component, doc=f"`{one.takes}`: {one.doc}", takes=one.takes)
        REGISTRY.register("assertion", one.id, body, origin=origin)


register_builtins()
