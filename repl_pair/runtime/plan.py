"""What one run will do, resolved before anything runs: effective args, play, tags, identity."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import record
from repl_pair.runtime.authoring import GLOBAL_ARGS, check_names
from repl_pair.runtime.code_hash import code_hash
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.identity import content_hash
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Entry, Identity, Step, Story, Variant
from repl_pair.runtime.plain import merge, refs_in, secrets_in
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.runtime.surface.store import STORE
from repl_pair.runtime.values import freeze

SUBSTRATE = "text"


@record
class Plan:
    """A resolved variant: `args` are the effective ones, frozen."""

    variant_id: str
    story: Story
    variant: Variant
    component: Callable[..., Any]
    args: Mapping[str, Any]
    modes: tuple[str, ...]
    tags: tuple[str, ...]
    revision: int


def plan_variant(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Resolve a variant with its active modes and overrides.

    Precedence: global < story < modes in the given order < variant < overrides. RequestError
    `not_found` for an unknown id, `cannot_run` where story and variant no longer fit.
    """
    entry = REGISTRY.get("variant", variant_id)
    story_entry = _story_of(entry)
    story: Story = story_entry.body
    component = story.component.resolve()
    active = _active_modes(modes)
    layers = [story.args, *(m.body.args for m in active), entry.body.args]
    frozen = _freeze_overrides(component, overrides or {})
    merged = merge(_taken(component, STORE.get(GLOBAL_ARGS.name) or {}), *layers, frozen)
    args = _fit(entry.id, component, merged)
    return Plan(
        variant_id=entry.id,
        story=story,
        variant=entry.body,
        component=component,
        args=args,
        modes=tuple(m.id for m in active),
        tags=effective_tags(story, entry.body),
        revision=max(entry.revision, story_entry.revision),
    )


def identify(plan: Plan) -> Identity:
    """Give the snapshot identity of a plan; nothing runs."""
    slots = {
        "variant": plan.variant_id,
        "args": plan.args,
        "play": list(plan.variant.play),
        "loaders": list(plan.variant.loaders),
        "tags": sorted(plan.tags),
        "modes": list(plan.modes),
        "substrate": SUBSTRATE,
    }
    return Identity(
        variant_id=plan.variant_id,
        active_modes=plan.modes,
        substrate=SUBSTRATE,
        content_hash=content_hash(slots),
        code_hash=code_hash([plan.component, *_registered_functions(plan)]),
    )


def effective_tags(story: Story, variant: Variant) -> tuple[str, ...]:
    """Join the tags of story and variant; `!tag` of the variant takes one out."""
    removed = {tag[1:] for tag in variant.tags if tag.startswith("!")}
    added = [tag for tag in variant.tags if not tag.startswith("!")]
    return tuple(dict.fromkeys(tag for tag in (*story.tags, *added) if tag not in removed))


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
    component: Callable[..., Any], overrides: Mapping[str, Any]
) -> Mapping[str, Any]:
    hints = parameter_hints(component)
    try:
        check_names("overrides", component, overrides)
        return {
            name: freeze(value, hints.get(name, Any), where=f"overrides.{name}")
            for name, value in overrides.items()
        }
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
    names = [*plan.variant.loaders, *(ref.loader for ref in refs_in(plan.args))]
    loaders = [REGISTRY.find("loader", name) for name in dict.fromkeys(names)]
    checks = {str(step[0]): REGISTRY.find("assertion", str(step[0])) for step in plan.variant.play}
    entries = [*loaders, *(entry for _, entry in sorted(checks.items()))]
    return [
        e.body.component.resolve() for e in entries if e is not None and e.origin.key != "builtin"
    ]


def snapshot_identity(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Identity:
    """Give a variant's snapshot identity; nothing runs. The hashes are equal in every process."""
    return identify(plan_variant(variant_id, modes=modes, overrides=overrides))
