"""Where everything that a run of a variant would use comes from; nothing runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.authoring.lines import unknown_step
from repl_pair.runtime.authoring.stories import GLOBAL_DECORATORS
from repl_pair.runtime.planning.arg_sources import explain_args, explain_argtypes
from repl_pair.runtime.planning.guard import check_overrides
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import (
    Layer,
    clashes_of,
    freeze_overrides,
    layers_of,
    plan_variant,
    source_of,
    story_behind,
)
from repl_pair.runtime.registry.extending import RULES, lay_over, reachable_chain
from repl_pair.runtime.registry.model import Entry, Use
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.surface import STORE
from repl_pair.wire import PERSON

_NEEDED = ("loader", "derived", "assertion")
"""The kinds of functions that a run cannot do without."""
Used = tuple[Use, Entry | None, str]
"""A decorator as it is used, its entry, and who uses it."""


@record
class Parts:
    """What a run would be planned from, as far as it is there; `chain` begins at the root."""

    story: Entry
    chain: Sequence[Entry]
    modes: Sequence[Entry]
    overrides: Mapping[str, Any]

    @property
    def entries(self) -> Sequence[Entry]:
        """The story and the chain."""
        return (self.story, *self.chain)


def explain(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    caller: str = PERSON,
) -> dict[str, Any]:
    """Return for everything that a run would use where it comes from; nothing runs.

    What keeps the variant from being run so stands in `conflicts`. Secrets stay `Secret`s.
    RequestError `not_found` for an unknown variant, `cannot_run` where its story is gone or where
    `caller` may not override these args.
    """
    if overrides and caller != PERSON:
        check_overrides(plan_variant(variant_id), overrides)
    parts, conflicts = _take_apart(REGISTRY.get("variant", variant_id), modes, overrides or {})
    plan, refusal = _plan(variant_id, parts, overrides)
    layers = layers_of(parts.story, parts.modes, parts.chain, parts.overrides)
    component = parts.story.body.component.resolve()
    plays = () if plan is None else plan.plays
    sent = () if plan is None else plan.events[: len(plan.dispatched)]
    tags, removed = _tags(parts.entries)
    uses = _uses(parts.entries)
    reached = () if plan is None else plan.reached.items()
    missing = [key for key, entry in reached if entry is None and key[0] in _NEEDED]
    missing += [("tag", line["id"]) for line in tags if REGISTRY.find("tag", line["id"]) is None]
    conflicts += [*refusal, *_misuses(uses), *(_unknown(*key) for key in missing)]
    return {
        "variant_id": variant_id,
        "modes": [mode.id for mode in parts.modes],
        "chain": [entry.id for entry in parts.chain],
        "rules": _rules(parts.chain),
        "args": explain_args(component, layers),
        "argtypes": explain_argtypes(
            component,
            [Layer(source=source_of(e), args=e.body.argtypes) for e in parts.entries],
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
        "declared_modes": _firsts(parts.entries, "modes"),
        "loaders": _firsts(parts.chain, "loaders"),
        "loaders_complete_when": _nearest(parts.chain, "loaders_complete_when"),
        "loaders_teardown": _lines(parts.chain, "loaders_teardown"),
        "events": [
            *_lines((setup for _, setup, _ in uses if setup is not None), "init"),
            *({"event": event, "source": "args"} for event in sent),
            *_lines(parts.chain, "events"),
        ],
        "plays": [{"name": play.name, "steps": len(play.steps)} for play in plays],
        "substrates": _nearest(parts.entries, "substrates"),
        "substrate": _substrate(parts, plan),
        "conflicts": list(dict.fromkeys(conflicts)),
    }


def _take_apart(
    entry: Entry, names: Sequence[str], overrides: Mapping[str, Any]
) -> tuple[Parts, list[str]]:
    story, chain = story_behind(entry), reachable_chain(entry)
    found = {name: REGISTRY.find("mode", name) for name in dict.fromkeys(map(str, names))}
    modes = [mode for mode in found.values() if mode is not None]
    conflicts = [_unknown("mode", name) for name, mode in found.items() if mode is None]
    frozen: Mapping[str, Any] = {}
    try:
        sent = lay_over(chain).args_to_events
        frozen = freeze_overrides(story.body.component.resolve(), overrides, sent)
    except RequestError as error:
        conflicts.append(error.message)
    parts = Parts(story=story, chain=chain, modes=modes, overrides=frozen)
    return parts, conflicts + clashes_of(modes)


def _plan(
    variant_id: str, parts: Parts, overrides: Mapping[str, Any] | None
) -> tuple[Plan | None, list[str]]:
    """Plan with the modes that do not clash; what else is wrong comes as sentences."""
    modes = parts.modes
    fitting = [mode.id for n, mode in enumerate(modes) if not clashes_of(modes[: n + 1])]
    try:
        return plan_variant(variant_id, modes=fitting, overrides=overrides), []
    except RequestError as error:
        return None, [error.message]


def _rules(chain: Sequence[Entry]) -> dict[str, str]:
    above = chain[:-1]
    return {
        slot: rule.words
        for slot, rule in RULES.items()
        if any(getattr(entry.body, slot) for entry in above)
    }


def _tags(entries: Iterable[Entry]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    held: dict[str, str] = {}
    removed: list[dict[str, Any]] = []
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
    used += [(use, None) for use in STORE.get(GLOBAL_DECORATORS.name) or ()]
    used += [(use, entry) for entry in entries for use in entry.body.decorators]
    return [(use, REGISTRY.find("decorator", str(use[0])), source_of(by)) for use, by in used]


def _misuses(uses: Iterable[Used]) -> Iterator[str]:
    """Return a sentence for each decorator that is unknown, misused, or wraps twice."""
    found = [(str(use[0]), use[1], setup and setup.body) for use, setup, _ in uses]
    yield from (_unknown("decorator", id) for id, _, body in found if body is None)
    wrong = [(id, misuse(body, args)) for id, args, body in found if body is not None]
    yield from (f"Decorator {id!r}: {words}" for id, words in wrong if words)
    wraps = [id for id, _, body in found if body is not None and body.kind == "wrap"]
    doubled = dict.fromkeys(id for id in wraps if wraps.count(id) > 1)
    yield from (f"Decorator {id!r} would wrap the component twice." for id in doubled)


def _substrate(parts: Parts, plan: Plan | None) -> dict[str, Any]:
    """Return the rendering of a run that asks for none: the usual one, else the first that fits."""
    if plan is None:
        return {}
    fitting = _nearest(parts.entries, "substrates")
    usual = plan.substrate == SUBSTRATE
    return {"value": plan.substrate, "source": "default" if usual else fitting["source"]}


def _unknown(kind: str, id: str) -> str:
    if kind == "assertion":
        return unknown_step(id, REGISTRY.ids(kind))
    return f"There is no {kind} {id!r}.{did_you_mean(id, REGISTRY.ids(kind))}"


def _firsts(entries: Iterable[Entry], slot: str) -> list[dict[str, Any]]:
    """Return each id of a slot once, with who named it first."""
    first: dict[str, str] = {}
    for entry in entries:
        for id in getattr(entry.body, slot):
            first.setdefault(id, source_of(entry))
    return [{"id": id, "source": source} for id, source in first.items()]


def _lines(entries: Iterable[Entry], slot: str) -> list[dict[str, Any]]:
    named = [(event, source_of(entry)) for entry in entries for event in getattr(entry.body, slot)]
    return [{"event": event, "source": source} for event, source in named]


def _nearest(chain: Sequence[Entry], slot: str) -> dict[str, Any]:
    found = [(value, source_of(entry)) for entry in chain if (value := getattr(entry.body, slot))]
    return {"value": found[-1][0], "source": found[-1][1]} if found else {}
