"""How a variant becomes a plan: its args in their order, its plays, decorators and tags."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean, next_step
from repl_pair.runtime.authoring.args import check_names, freeze_args, freeze_by_hints
from repl_pair.runtime.authoring.shared import GLOBAL_ARGS, GLOBAL_DECORATORS
from repl_pair.runtime.authoring.substrates import unknown_substrate
from repl_pair.runtime.planning.guard import check
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan, PlannedEvent
from repl_pair.runtime.registry.extending import chain_of, lay_over, modes_along, tags_along
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Decorator, Entry, Event, Play, Story, Variant
from repl_pair.runtime.registry.origin import is_agents, is_of_agent
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.registry.registry import REGISTRY, is_over
from repl_pair.runtime.registry.steps import STEPS, looks_at, name_in, named_by
from repl_pair.runtime.secrets.egress import learn_from
from repl_pair.runtime.secrets.known import made_of
from repl_pair.runtime.secrets.learning import learn_module
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values.frozen import merge, refs_in
from repl_pair.runtime.values.takes import takes_of
from repl_pair.wire import PERSON


def global_args_of(component: Callable[..., Any]) -> Mapping[str, Any]:
    """Return those args of all stories that a component takes."""
    given: Mapping[str, Any] = STORE.get(GLOBAL_ARGS.name)
    legal = takes_of(component).parameters or {} if given else {}
    return {name: value for name, value in given.items() if name in legal}


def clashes_of(modes: Sequence[Entry]) -> list[str]:
    """Return a sentence for each mode that shares its axis with one before it."""
    axes: dict[str, str] = {}
    return [
        f"Modes {axes[mode.body.axis]!r} and {mode.id!r} share the axis {mode.body.axis!r}: "
        "choose one."
        for mode in modes
        if mode.body.axis is not None and axes.setdefault(mode.body.axis, mode.id) != mode.id
    ]


def freeze_overrides(
    component: Callable[..., Any], overrides: Mapping[str, Any], dispatched: Iterable[str]
) -> Mapping[str, Any]:
    """Freeze what a caller gives for one run; `bad_arguments` where it does not fit."""
    if not overrides:
        return overrides
    try:
        return freeze_args("overrides", component, overrides, dispatched=dispatched, pinned=False)
    except AuthoringError as error:
        raise RequestError("bad_arguments", error.message, detail=error.detail) from error


def plan_variant(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
    caller: str = PERSON,
) -> Plan:
    """Resolve a variant with its active modes and overrides.

    Precedence: global < story < modes in the given order < variant < overrides. `plays` names
    those to run instead of the automatic ones; `caller` chose the modes and overrides.
    RequestError `not_found` for an unknown id, `cannot_run` where story and variant no longer fit
    or an agent brings what it may not, `bad_arguments` for what the variant does not have.
    """
    entry = REGISTRY.get("variant", variant_id)
    story_entry = story_behind(entry)
    story: Story = story_entry.body
    chain = chain_of(entry)
    body = lay_over(chain)
    tags, declared = tags_along(story, chain), modes_along(story, chain)
    component = story.component.resolve()
    active = [REGISTRY.get("mode", name) for name in dict.fromkeys(map(str, modes))]
    for clash in clashes_of(active):
        raise RequestError("bad_arguments", clash)
    frozen = freeze_overrides(component, overrides or {}, body.args_to_events)
    layers = (entry.body.args for entry in (story_entry, *active, *chain))
    under = merge(global_args_of(component), *layers)
    merged = merge(under, frozen)
    dispatched = {n: merged.pop(n) for n in body.args_to_events if n in merged}
    uses = (*STORE.get(GLOBAL_DECORATORS.name), *story.decorators, *body.decorators)
    setups = {("decorator", str(use[0])): REGISTRY.find("decorator", str(use[0])) for use in uses}
    parts = (story_entry, *active, *chain, *filter(None, setups.values()))
    by_agents = tuple(part for part in parts if is_agents(part.origin))
    authors = [(part, bool(by_agents) and not _is_persons_for(story, part)) for part in chain]
    overlay = (overrides,) if overrides and caller != PERSON else ()
    own = tuple(part.origin.sent for part in by_agents if is_of_agent(part.origin, caller))
    chosen, shown = _plays(entry.id, body, plays), _substrate(entry.id, story, body, substrate)
    args = _fit(entry.id, component, merged)
    before = (*_events_of_args(body, dispatched, authors), *_events_in("events", authors))
    events = [planned.event for planned in before]
    bodies = [used.body for used in setups.values() if used is not None]
    named = _functions_named(body, chosen, args, events, bodies)
    differs = {
        "overrides": bool(frozen),
        "modes": not {mode.id for mode in active}.issubset(declared),
        "plays": plays is not None and chosen != _plays(entry.id, body, None),
        "substrate": substrate != SUBSTRATE
        and shown != _substrate(entry.id, story, body, SUBSTRATE),
    }
    plan = Plan(
        variant_id=entry.id,
        story=story,
        variant=body,
        component=component,
        args=args,
        dispatched=dispatched,
        under=under,
        overrides=frozen,
        before_render=before,
        after_loading=_events_in("loaders_teardown", authors),
        plays=chosen,
        plays_by_agent=is_agents(entry.origin),
        decorators=uses,
        modes=tuple(m.id for m in active),
        tags=tags,
        substrate=shown,
        what_if=tuple(name for name, is_other in differs.items() if is_other),
        reached={(e.kind, e.id): e for e in (story_entry, *chain, *active)}
        | setups
        | {key: REGISTRY.find(*key) for key in named},
        written_by_agents=by_agents,
        sent=overlay + own,
        by_others=tuple(part for part in by_agents if not is_of_agent(part.origin, caller)),
    )
    check(plan, caller)
    learn_module(component)
    with made_of(plan.sent, plan.sent_by_others):
        learn_from(plan.args, sensitive=plan.secret_places)
    return plan


def snapshot_identity(
    variant_id: str, *, modes: Sequence[str] = (), overrides: Mapping[str, Any] | None = None
) -> Identity:
    """Return a variant's snapshot identity; nothing runs. The hashes are equal in every process."""
    return plan_variant(variant_id, modes=modes, overrides=overrides).identity


def story_behind(entry: Entry) -> Entry:
    """Return the entry of a variant's story; RequestError `cannot_run` where there is none."""
    story = REGISTRY.find("story", story_of(entry.id))
    if story is None:
        raise RequestError(
            "cannot_run",
            f"{entry.id}: its story {story_of(entry.id)!r} is no longer registered.",
            next_steps=[next_step("list_stories")],
        )
    return story


def _plays(variant_id: str, body: Variant, wanted: Sequence[str] | None) -> tuple[Play, ...]:
    if body.play and wanted is None:
        return (Play(steps=body.play),)
    if wanted is None:
        return tuple(play for play in body.plays if play.auto_run)
    named = {play.name: play for play in body.plays}
    for name in wanted:
        if name not in named:
            raise RequestError(
                "bad_arguments",
                f"{variant_id} has no play {name!r}.{did_you_mean(name, named)} "
                f"Its plays: {', '.join(named) or 'none is named'}.",
                next_steps=[next_step("get_variant", variant_id=variant_id)],
            )
    return tuple(named[name] for name in dict.fromkeys(wanted))


def _substrate(variant_id: str, story: Story, body: Variant, wanted: str) -> str:
    fitting = body.substrates or story.substrates
    if fault := unknown_substrate(wanted):
        raise RequestError("not_found", fault, next_steps=[next_step("list_substrates")])
    for fault in filter(None, map(unknown_substrate, fitting)):
        raise RequestError("cannot_run", f"{variant_id}: {fault}")
    if fitting and wanted not in fitting:
        if wanted == SUBSTRATE:
            return fitting[0]
        raise RequestError(
            "cannot_run", f"{variant_id} is for {', '.join(fitting)}, not for {wanted}."
        )
    return wanted


def _is_persons_for(story: Story, entry: Entry) -> bool:
    """Return whether the person wrote a variant, and for the component that runs."""
    return not is_agents(entry.origin) and is_over(story_of(entry.id), story.component)


def _events_of_args(
    body: Variant, dispatched: Mapping[str, Any], authors: Sequence[tuple[Entry, bool]]
) -> Iterator[PlannedEvent]:
    """Return the events that args go out as; the person's where the person's variant names them."""
    persons = [entry.body.args_to_events for entry, by_agent in authors if not by_agent]
    for arg, value in dispatched.items():
        name = body.args_to_events[arg]
        by_agent = not any(named.get(arg) == name for named in persons)
        yield PlannedEvent(event=[name, {arg: value}], by_agent=by_agent)


def _events_in(slot: str, authors: Sequence[tuple[Entry, bool]]) -> tuple[PlannedEvent, ...]:
    return tuple(
        PlannedEvent(event=event, by_agent=by_agent)
        for entry, by_agent in authors
        for event in getattr(entry.body, slot)
    )


def _fit(
    variant_id: str, component: Callable[..., Any], args: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Read the merged args through today's hints: a mode's value may stand for a secret."""
    try:
        check_names(variant_id, component, args)
        return freeze_by_hints(component, args)
    except AuthoringError as error:
        raise RequestError("cannot_run", error.message) from error


def _functions_named(
    body: Variant,
    plays: Sequence[Play],
    args: Mapping[str, Any],
    before: Sequence[Event],
    setups: Sequence[Decorator],
) -> Iterator[tuple[str, str]]:
    steps = [step for play in plays for step in play.steps]
    for name in (*body.loaders, *(ref.loader for ref in refs_in([args, list(before)]))):
        yield "loader", name
    for name in sorted({str(step[0]) for step in steps} - STEPS.keys()):
        yield "assertion", name
    if isinstance(body.loaders_complete_when, str):
        yield "derived", body.loaders_complete_when
    for step in steps:
        if len(step) > 1 and looks_at(step) == "derived":
            yield "derived", name_in(step[1])
    events = [*before, *body.loaders_teardown]
    events += [step[1] for step in steps if named_by(step) == "event"]
    events += [event for setup in setups for event in (*setup.init, *setup.teardown)]
    for name in sorted({str(event[0]) for event in events}):
        yield "handler", name
