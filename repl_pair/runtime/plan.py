"""What one run will do, resolved before anything runs: effective args, play, tags, identity."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring import GLOBAL_ARGS, GLOBAL_DECORATORS
from repl_pair.runtime.bodies import check_names, freeze_args
from repl_pair.runtime.code_hash import code_hash
from repl_pair.runtime.extending import chain_of, decorators_of, effective_tags, lay_over
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.identity import content_hash
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Decorator, Entry, Event, Play, Step, Story, Use, Variant
from repl_pair.runtime.plain import merge, refs_in, secrets_in
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.run_record import Identity
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.runtime.surface.store import STORE
from repl_pair.runtime.values import freeze

SUBSTRATE = "text"


@record
class Plan:
    """A resolved variant: `variant` is its body over what it extends, `args` are frozen.

    `plays` are those that run, in order; `dispatched` are the args that go out as events.
    """

    variant_id: str
    story: Story
    variant: Variant
    component: Callable[..., Any]
    args: Mapping[str, Any]
    dispatched: Mapping[str, Any]
    plays: tuple[Play, ...]
    decorators: tuple[Use, ...]
    modes: tuple[str, ...]
    tags: tuple[str, ...]
    substrate: str
    revision: int

    @property
    def steps(self) -> Iterable[Step]:
        """Every step that runs, in order."""
        return (step for play in self.plays for step in play.steps)

    @property
    def events(self) -> tuple[Event, ...]:
        """What is dispatched before render: the args that are events first."""
        names = self.variant.args_to_events
        first = [[names[arg], {arg: value}] for arg, value in self.dispatched.items()]
        return (*first, *self.variant.events)


def plan_variant(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
) -> Plan:
    """Resolve a variant with its active modes and overrides.

    Precedence: global < story < modes in the given order < variant < overrides. `plays` names
    those to run instead of the automatic ones. RequestError `not_found` for an unknown id,
    `cannot_run` where story and variant no longer fit, `bad_arguments` for what it does not have.
    """
    entry = REGISTRY.get("variant", variant_id)
    story_entry = _story_of(entry)
    story: Story = story_entry.body
    chain = chain_of(entry)
    body = lay_over(chain)
    component = story.component.resolve()
    active = _active_modes(modes)
    frozen = _freeze_overrides(component, overrides or {}, body.args_to_events)
    layers = [story.args, *(m.body.args for m in active), body.args, frozen]
    merged = merge(_taken(component, STORE.get(GLOBAL_ARGS.name) or {}), *layers)
    dispatched = {n: merged.pop(n) for n in body.args_to_events if n in merged}
    return Plan(
        variant_id=entry.id,
        story=story,
        variant=body,
        component=component,
        args=_fit(entry.id, component, merged),
        dispatched=dispatched,
        plays=_plays(entry.id, body, plays),
        decorators=decorators_of(STORE.get(GLOBAL_DECORATORS.name), story, body),
        modes=tuple(m.id for m in active),
        tags=effective_tags(story, body),
        substrate=_substrate(entry.id, story, body, substrate),
        revision=max(story_entry.revision, *(e.revision for e in (*chain, *active))),
    )


def identify(plan: Plan) -> Identity:
    """Give the snapshot identity of a plan; nothing runs."""
    body = plan.variant
    slots = {
        "variant": plan.variant_id,
        "component": plan.story.component.qualname,
        "args": plan.args,
        "events": list(plan.events),
        "plays": [[play.name, list(play.steps)] for play in plan.plays],
        "loaders": list(body.loaders),
        "loaders_complete_when": body.loaders_complete_when,
        "loaders_teardown": list(body.loaders_teardown),
        "decorators": [_settled_use(use) for use in plan.decorators],
        "tags": sorted(plan.tags),
        "modes": list(plan.modes),
        "substrate": plan.substrate,
    }
    return Identity(
        variant_id=plan.variant_id,
        active_modes=plan.modes,
        substrate=plan.substrate,
        content_hash=content_hash(slots),
        code_hash=code_hash([plan.component, *_registered_functions(plan)]),
    )


def assertion_function(step: Step) -> Callable[..., Any]:
    """Give today's function behind the name that heads a step."""
    return REGISTRY.get("assertion", str(step[0])).body.component.resolve()


def _story_of(entry: Entry) -> Entry:
    story = REGISTRY.find("story", story_of(entry.id))
    if story is None:
        raise RequestError(
            "cannot_run",
            f"{entry.id}: its story {story_of(entry.id)!r} is no longer registered.",
            next_steps=["list_stories()"],
        )
    return story


def _plays(variant_id: str, body: Variant, wanted: Sequence[str] | None) -> tuple[Play, ...]:
    """Give the plays that run: those that are wanted, else the automatic ones."""
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
            )
    return tuple(named[name] for name in wanted)


def _substrate(variant_id: str, story: Story, body: Variant, wanted: str) -> str:
    fitting = body.substrates or story.substrates
    if fitting and wanted not in fitting:
        if wanted == SUBSTRATE:
            return fitting[0]
        raise RequestError(
            "cannot_run", f"{variant_id} is for {', '.join(fitting)}, not for {wanted}."
        )
    return wanted


def _settled_use(use: Use) -> list[Any]:
    """Give a decorator as it counts for what a run settles to: with the data of its body."""
    entry = REGISTRY.find("decorator", str(use[0]))
    if entry is None:
        return list(use)
    body: Decorator = entry.body
    return [
        *use,
        body.kind,
        list(body.init),
        list(body.teardown),
        dict(body.patch),
        body.effect,
        list(body.responses),
        body.repeats,
    ]


def _active_modes(names: Sequence[str]) -> list[Entry]:
    modes = [REGISTRY.get("mode", str(name)) for name in names]
    axes: dict[str, str] = {}
    for mode in modes:
        axis = mode.body.axis
        if axis is not None and axes.setdefault(axis, mode.id) != mode.id:
            raise RequestError(
                "bad_arguments",
                f"Modes {axes[axis]!r} and {mode.id!r} share the axis {axis!r}: choose one.",
            )
    return modes


def _freeze_overrides(
    component: Callable[..., Any], overrides: Mapping[str, Any], dispatched: Iterable[str]
) -> Mapping[str, Any]:
    try:
        return freeze_args("overrides", component, overrides, dispatched=dispatched, pinned=False)
    except AuthoringError as error:
        raise RequestError("bad_arguments", error.message, detail=error.detail) from error


def _taken(component: Callable[..., Any], args: Mapping[str, Any]) -> Mapping[str, Any]:
    legal = inspect.signature(component).parameters
    return {name: value for name, value in args.items() if name in legal}


def _fit(
    variant_id: str, component: Callable[..., Any], args: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Read the merged args through today's hints: a mode's value may stand for a secret."""
    hints = parameter_hints(component)
    try:
        check_names(variant_id, component, args)
        fitted = {n: freeze(v, hints.get(n, Any), where=f"args.{n}") for n, v in args.items()}
    except AuthoringError as error:
        raise RequestError("cannot_run", error.message) from error
    for secret in secrets_in(fitted):
        NEEDLES.add(secret)
    return fitted


def _registered_functions(plan: Plan) -> list[Callable[..., Any]]:
    """Give the registered functions that a run reaches, without the built-in ones."""
    body, steps = plan.variant, list(plan.steps)
    loaders = [*body.loaders, *(ref.loader for ref in refs_in([plan.args, plan.dispatched]))]
    condition = body.loaders_complete_when
    derived = [condition] if isinstance(condition, str) else []
    derived += [str(step[1]) for step in steps if step[0] == "derived_equals" and len(step) > 1]
    uses = [REGISTRY.find("decorator", str(use[0])) for use in plan.decorators]
    events = [*plan.events, *body.loaders_teardown]
    events += [step[1] for step in steps if step[0] == "dispatch"]
    events += [event for e in uses if e for event in (*e.body.init, *e.body.teardown)]
    wanted = {
        "loader": dict.fromkeys(loaders),
        "assertion": sorted({str(step[0]) for step in steps}),
        "derived": dict.fromkeys(derived),
        "handler": sorted({str(event[0]) for event in events}),
    }
    found = [REGISTRY.find(kind, name) for kind, names in wanted.items() for name in names]
    functions = [e.body.component for e in found if e and e.origin.key != "builtin"]
    functions += [e.body.wrap for e in uses if e and e.body.wrap]
    return [c.resolve() for c in [*functions, plan.story.state] if c is not None]


def snapshot_identity(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Identity:
    """Give a variant's snapshot identity; nothing runs. The hashes are equal in every process."""
    return identify(plan_variant(variant_id, modes=modes, overrides=overrides))
