"""Where everything that a run of a variant would use comes from; nothing runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.authoring.lines import unknown_step
from repl_pair.runtime.authoring.shared import GLOBAL_DECORATORS
from repl_pair.runtime.planning.arg_sources import (
    ArgSource,
    Layer,
    explain_args,
    explain_argtypes,
    layers_of,
    source_of,
)
from repl_pair.runtime.planning.guard import check_overrides
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import (
    clashes_of,
    freeze_overrides,
    plan_variant,
    story_behind,
)
from repl_pair.runtime.registry.extending import RULES, lay_over, reachable_chain
from repl_pair.runtime.registry.model import Entry, Use
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import STORE
from repl_pair.wire import PERSON

_NEEDED = ("loader", "derived", "assertion")
"""The kinds of functions that a run cannot do without."""
Used = tuple[Use, Entry | None, str]
"""A decorator as it is used, its entry, and who uses it."""


class SlotSource(TypedDict, total=False):
    """Where a slot that one place sets comes from; empty where none does."""

    value: Any
    source: str


class IdSource(TypedDict):
    """Where an id of a list comes from; `removed_by` takes the tag out again."""

    id: str
    source: str
    removed_by: NotRequired[str]


class UseSource(TypedDict):
    """Where a use of a decorator comes from; its kind is "unknown" where nothing has its id."""

    id: str
    kind: str
    args: dict[str, Any]
    source: str


class EventSource(TypedDict):
    """Where an event comes from."""

    event: Any
    source: str


class PlaySize(TypedDict):
    """How many steps a play has; the name of the only one is empty."""

    name: str
    steps: int


class Explanation(TypedDict):
    """Where each effective slot of a variant comes from; `conflicts` would keep it from a run.

    `explain` gives every slot, the op those that hold something.
    """

    variant_id: str
    modes: NotRequired[list[str]]
    chain: list[str]
    rules: NotRequired[dict[str, str]]
    args: list[ArgSource]
    argtypes: NotRequired[list[ArgSource]]
    tags: NotRequired[list[IdSource]]
    removed_tags: NotRequired[list[IdSource]]
    decorators: NotRequired[list[UseSource]]
    declared_modes: NotRequired[list[IdSource]]
    loaders: NotRequired[list[IdSource]]
    loaders_complete_when: NotRequired[SlotSource]
    loaders_teardown: NotRequired[list[EventSource]]
    events: NotRequired[list[EventSource]]
    plays: NotRequired[list[PlaySize]]
    substrates: NotRequired[SlotSource]
    substrate: NotRequired[SlotSource]
    conflicts: list[str]


def explain(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    caller: str = PERSON,
) -> Explanation:
    """Return for everything that a run would use where it comes from; nothing runs.

    What keeps the variant from being run so stands in `conflicts`. Secrets stay `Secret`s.
    RequestError `not_found` for an unknown variant, `cannot_run` where its story is gone or where
    `caller` may not override these args.
    """
    if overrides and caller != PERSON:
        check_overrides(plan_variant(variant_id), overrides)
    entry = REGISTRY.get("variant", variant_id)
    story, chain = story_behind(entry), reachable_chain(entry)
    entries = (story, *chain)
    component = story.body.component.resolve()
    found = {name: REGISTRY.find("mode", name) for name in dict.fromkeys(map(str, modes))}
    active = [mode for mode in found.values() if mode is not None]
    conflicts = [_unknown("mode", name) for name, mode in found.items() if mode is None]
    frozen: Mapping[str, Any] = {}
    try:
        frozen = freeze_overrides(component, overrides or {}, lay_over(chain).args_to_events)
    except RequestError as error:
        conflicts.append(error.message)
    plan, refusals = _plan(variant_id, active, overrides, caller)
    plays = () if plan is None else plan.plays
    sent = () if plan is None else plan.events[: len(plan.dispatched)]
    fitting = _nearest(entries, "substrates")
    usual = plan is None or plan.substrate == SUBSTRATE
    rendered_by = "default" if usual else fitting.get("source", "default")
    tags, removed = _tags(entries)
    uses = _uses(entries)
    reached = () if plan is None else plan.reached.items()
    missing = [key for key, entry in reached if entry is None and key[0] in _NEEDED]
    conflicts += [*refusals, *_misuses(uses), *(_unknown(*key) for key in missing)]
    return {
        "variant_id": variant_id,
        "modes": [mode.id for mode in active],
        "chain": [entry.id for entry in chain],
        "rules": {
            slot: rule.words
            for slot, rule in RULES.items()
            if any(getattr(above.body, slot) for above in chain[:-1])
        },
        "args": explain_args(component, layers_of(story, active, chain, frozen)),
        "argtypes": explain_argtypes(
            component, [Layer(source=source_of(e), value=e.body.argtypes) for e in entries]
        ),
        "tags": tags,
        "removed_tags": removed,
        "decorators": [
            {
                "id": str(use[0]),
                "kind": "unknown" if setup is None else setup.body.kind,
                "args": use[1],
                "source": source,
            }
            for use, setup, source in uses
        ],
        "declared_modes": _firsts(entries, "modes"),
        "loaders": _firsts(chain, "loaders"),
        "loaders_complete_when": _nearest(chain, "loaders_complete_when"),
        "loaders_teardown": _lines(chain, "loaders_teardown"),
        "events": [
            *_lines((setup for _, setup, _ in uses if setup is not None), "init"),
            *({"event": event, "source": "args"} for event in sent),
            *_lines(chain, "events"),
        ],
        "plays": [{"name": play.name, "steps": len(play.steps)} for play in plays],
        "substrates": fitting,
        "substrate": {} if plan is None else {"value": plan.substrate, "source": rendered_by},
        "conflicts": list(dict.fromkeys(conflicts)),
    }


def _plan(
    variant_id: str, modes: Sequence[Entry], overrides: Mapping[str, Any] | None, caller: str
) -> tuple[Plan | None, list[str]]:
    """Plan with the modes that do not clash; what is wrong comes as sentences."""
    clashes = clashes_of(modes)
    fitting = [mode.id for n, mode in enumerate(modes) if not clashes_of(modes[: n + 1])]
    try:
        return plan_variant(variant_id, modes=fitting, overrides=overrides, caller=caller), clashes
    except RequestError as error:
        return None, [*clashes, error.message]


def _tags(entries: Iterable[Entry]) -> tuple[list[IdSource], list[IdSource]]:
    held: dict[str, str] = {}
    removed: list[IdSource] = []
    for entry in entries:
        for word in entry.body.tags:
            tag, source = word.removeprefix("!"), source_of(entry)
            if tag == word:
                held.setdefault(tag, source)
            elif tag in held:
                removed.append({"id": tag, "source": held.pop(tag), "removed_by": source})
    return [{"id": tag, "source": source} for tag, source in held.items()], removed


def _uses(entries: Iterable[Entry]) -> list[Used]:
    """Return the decorators from the outermost in, each with its entry and where it is used."""
    used: list[tuple[Use, Entry | None]] = []
    used += [(use, None) for use in STORE.get(GLOBAL_DECORATORS.name)]
    used += [(use, entry) for entry in entries for use in entry.body.decorators]
    return [(use, REGISTRY.find("decorator", str(use[0])), source_of(by)) for use, by in used]


def _misuses(uses: Iterable[Used]) -> Iterator[str]:
    found = [(str(use[0]), use[1], setup and setup.body) for use, setup, _ in uses]
    yield from (_unknown("decorator", id) for id, _, body in found if body is None)
    wrong = [(id, misuse(body, args)) for id, args, body in found if body is not None]
    yield from (f"Decorator {id!r}: {words}" for id, words in wrong if words)
    wraps = [id for id, _, body in found if body is not None and body.kind == "wrap"]
    doubled = dict.fromkeys(id for id in wraps if wraps.count(id) > 1)
    yield from (f"Decorator {id!r} would wrap the component twice." for id in doubled)


def _unknown(kind: str, id: str) -> str:
    if kind == "assertion":
        return unknown_step(id, REGISTRY.ids(kind))
    return REGISTRY.missing(kind, id)


def _firsts(entries: Iterable[Entry], slot: str) -> list[IdSource]:
    first: dict[str, str] = {}
    for entry in entries:
        for id in getattr(entry.body, slot):
            first.setdefault(id, source_of(entry))
    return [{"id": id, "source": source} for id, source in first.items()]


def _lines(entries: Iterable[Entry], slot: str) -> list[EventSource]:
    named = [(event, source_of(entry)) for entry in entries for event in getattr(entry.body, slot)]
    return [{"event": event, "source": source} for event, source in named]


def _nearest(chain: Sequence[Entry], slot: str) -> SlotSource:
    found = [(value, source_of(entry)) for entry in chain if (value := getattr(entry.body, slot))]
    return {"value": found[-1][0], "source": found[-1][1]} if found else {}
