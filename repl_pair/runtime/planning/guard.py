"""What agents may not bring into a run: by entries that they wrote, by overrides, by modes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.agent_data import (
    data_faults,
    given_faults,
    held_data,
    loader_faults,
    override_fault,
    refused_overrides,
    secret_loaders_in,
    sent_secrets,
)
from repl_pair.runtime.authoring.agent_lines import own_methods
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.reading.closed_values import is_closed
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY, is_over
from repl_pair.runtime.registry.steps import taker_of
from repl_pair.runtime.secrets.entries import slots_of
from repl_pair.runtime.secrets.modes import mode_args
from repl_pair.runtime.secrets.places import mark_secrets
from repl_pair.runtime.signatures.code_hints import field_hints
from repl_pair.runtime.values.classes import is_map, real_class
from repl_pair.runtime.values.frozen import Secret, merge, ref_places, sensitive_paths
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import parse_path
from repl_pair.runtime.values.takes import takes_of
from repl_pair.wire import PERSON


def check(plan: Plan, caller: str) -> None:
    """Refuse, by `cannot_run`, what agents bring in; `caller` chose the modes and overrides."""
    for entry in plan.written_by_agents:
        if faults := [fault for fault in _entry_faults(plan, entry) if fault]:
            raise RequestError("cannot_run", f"{plan.variant_id}: {' '.join(faults)}")
    if caller != PERSON:
        check_overrides(plan, plan.overrides)
        _check_modes(plan)


def check_overrides(plan: Plan, overrides: Mapping[str, Any]) -> None:
    """Refuse overrides of an agent that set a secret or code, or that the story does not take.

    With the outcome of a run an agent could guess the secret. RequestError `cannot_run`.
    """
    if not overrides:
        return
    if not plan.story.agent_overrides:
        named = [f"overrides of {name!r}" for name in overrides]
        raise RequestError("cannot_run", refused_overrides(story_of(plan.variant_id), named))
    hints = takes_of(plan.component).hints
    both = [
        {name: mark_secrets(args[name], hints.get(name, Any)) for name in overrides if name in args}
        for args in (plan.under, overrides)
    ]
    secret = {path[0] for args in both for path in sensitive_paths(args)}
    if touched := sorted(name for name in overrides if name in secret or is_secret_key(name)):
        raise RequestError(
            "cannot_run",
            f"{', '.join(touched)} holds a secret: only the person overrides it.",
        )
    faults = given_faults(plan.component, overrides, where="overrides", base=both[0])
    if faults := [*faults, *_sent_faults(plan, overrides, where="overrides")]:
        raise RequestError("cannot_run", " ".join(faults))


def check_set(holder: Any, name: Any, value: Any) -> None:
    """Refuse to set a part of what is closed, or what only code or a secret answers.

    RequestError `cannot_run`.
    """
    if is_closed(holder):
        raise RequestError(
            "cannot_run",
            f"{name!r} would be set in a {real_class(holder).__name__}: an agent sets no part of "
            "code, a namespace, a stream or a library's machinery. Only the person's play may.",
        )
    if is_map(holder):
        return
    hint = field_hints(real_class(holder)).get(str(name), Any)
    if faults := data_faults(value, hint=hint, where=str(name)):
        raise RequestError("cannot_run", " ".join(faults))


def method_for_agent(plan: Plan, live: Any, name: str) -> Callable[..., Any]:
    """Return a method that an agent's lines may call; RequestError `cannot_run` for any other."""
    component: Any = plan.component
    own = own_methods(component, plan.reached.get(("story", story_of(plan.variant_id))))
    if name in own and issubclass(real_class(live), component):
        return getattr(live, name)
    raise RequestError(
        "cannot_run",
        f"{name!r} is not one of the public methods that the story's own class defines "
        f"({', '.join(own) or 'there is none'}): what an agent writes calls no other.",
    )


def _check_modes(plan: Plan) -> None:
    """Refuse active modes that hold a secret and that no story or variant of the person's names."""
    named = {
        mode
        for entry in plan.reached.values()
        if entry is not None and entry.kind in ("story", "variant") and not is_agents(entry.origin)
        for mode in entry.body.modes
    }
    for id in plan.modes:
        mode = plan.reached[("mode", id)]
        args = {} if mode is None or id in named else mode_args(mode)
        secret = {path[0] for path in sensitive_paths(args)}
        secret |= {name for name, value in args.items() if secret_loaders_in(value)}
        if secret:
            raise RequestError(
                "cannot_run",
                f"mode {id!r} brings a secret to {', '.join(sorted(secret))}: an agent activates "
                f"it only where the story or variant names it. Use another mode, or let the "
                f"person register {story_of(plan.variant_id)!r} with modes=[{id!r}].",
            )


def _entry_faults(plan: Plan, entry: Entry) -> Iterator[str]:
    where, body = f"{entry.kind} {entry.id!r}", entry.body
    # The args of a story hold the person's own, which it took over when it was registered.
    if entry.kind == "story":
        yield _closed_since(entry)
    elif fault := override_fault(story_of(plan.variant_id), plan.story, slots_of(body)):
        yield f"{where} of an agent: {fault}"
    base = plan.all_args
    if entry.kind in ("story", "variant"):
        yield from _foreign_secrets(plan)
    if entry.kind == "variant":
        yield from sent_secrets(plan.component, body.args_to_events, base)
    given: Mapping[str, Any] = _patched(body.patch) if entry.kind == "decorator" else body.args
    args = {n: v for n, v in given.items() if real_class(v) is not Secret}
    yield from given_faults(plan.component, args, where=f"{where}: args", base=base)
    refs = [ref for _, ref, in_secret in ref_places(held_data(entry)) if not in_secret]
    yield from loader_faults(refs, where=where)
    yield from _sent_faults(plan, getattr(body, "args", {}), where=f"{where}: args")


def _closed_since(entry: Entry) -> str:
    """Report that every story of the person's over an agent's component takes no data by now."""
    entries = REGISTRY.snapshot("story").values()
    same = [
        e.body
        for e in entries
        if not is_agents(e.origin) and e.body.component == entry.body.component
    ]
    if not entry.body.agent_overrides or not same or any(body.agent_overrides for body in same):
        return ""
    return (
        f"the person registered the component of story {entry.id!r} with agent_overrides=False "
        "since. Register the story again."
    )


def _foreign_secrets(plan: Plan) -> Iterator[str]:
    """Name the variants whose secrets would go to another component than they were set for."""
    for entry in plan.reached.values():
        if entry is None or entry.kind != "variant":
            continue
        body = entry.body
        is_foreign = not is_over(story_of(entry.id), plan.story.component)
        held = (body.args, [*body.events, *body.loaders_teardown])
        if is_foreign and any(map(sensitive_paths, held)):
            yield f"variant {entry.id!r} holds a secret for another story's component."


def _patched(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    args: dict[str, Any] = {}
    for path, value in patch.items():
        head, *below = parse_path(path)
        for step in reversed(below):
            value = {step: value}
        args = merge(args, {str(head): value})
    return args


def _sent_faults(plan: Plan, given: Mapping[str, Any], *, where: str) -> list[str]:
    """Return what is wrong with args that go out as events, as of what takes each of them."""
    faults: list[str] = []
    for arg, event in plan.variant.args_to_events.items():
        taker = taker_of(plan.component, event)
        if arg in given and taker is not None:
            faults += given_faults(taker, {arg: given[arg]}, where=where)
    return faults
