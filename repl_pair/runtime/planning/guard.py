"""What an agent may not bring into a run, checked against today's code."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.agent_data import data_faults, given_faults, sent_secrets
from repl_pair.runtime.authoring.agent_loaders import held_data, loader_faults
from repl_pair.runtime.authoring.agent_overrides import override_fault
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Decorator, Entry, Event, Story
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.modes import mode_args
from repl_pair.runtime.values.classes import is_map, is_row, is_set, real_class
from repl_pair.runtime.values.code_hints import field_hints
from repl_pair.runtime.values.frozen import Record, Ref, Secret, merge, ref_places, sensitive_paths
from repl_pair.runtime.values.hints import ANYTHING, Hint, item_hint, parameter_hints, read_hint
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import parse_path


def check_set(holder: Any, name: Any, value: Any) -> None:
    """Refuse to set what only code answers, or a secret; RequestError `cannot_run`."""
    if is_map(holder):
        return
    hint = field_hints(real_class(holder)).get(str(name), Any)
    if faults := data_faults(value, hint=hint, where=str(name)):
        raise RequestError("cannot_run", " ".join(faults))


def check_sent(plan: Plan, entries: Iterable[Entry]) -> None:
    """Refuse entries of agents' whose args go out as events that may not get them."""
    for entry in entries:
        args = getattr(entry.body, "args", {})
        if faults := sent_faults(plan, args, where=f"{entry.kind} {entry.id}: args"):
            raise RequestError("cannot_run", " ".join(faults))


def sent_faults(plan: Plan, given: Mapping[str, Any], *, where: str) -> list[str]:
    """Return what is wrong with args that go out as events, as of what takes each of them."""
    faults: list[str] = []
    for arg, event in plan.variant.args_to_events.items():
        taker = _taker(plan, event) if arg in given else None
        if taker is not None:
            faults += given_faults(taker, {arg: given[arg]}, where=where)
    return faults


def _taker(plan: Plan, event: str) -> Callable[..., Any] | None:
    entry = REGISTRY.find("handler", event)
    return getattr(plan.component, event, None) if entry is None else entry.body.component.resolve()


def is_from_agent(plan: Plan, event: Event) -> bool:
    """Return whether an event of a plan is an agent's, or was meant for another component."""
    entries = [entry for entry in plan.reached.values() if entry is not None]
    if not any(is_agents(entry.origin) for entry in entries):
        return False
    return not any(_is_persons(plan, entry) and _sends(entry, event) for entry in entries)


def method_for_agent(plan: Plan, live: Any, name: str) -> Callable[..., Any]:
    """Return a method that the lines of an agent's may call; RequestError for any other."""
    # Only what agents wrote pays for this room.
    from repl_pair.runtime.authoring.agent_lines import own_methods

    component: Any = plan.component
    story = plan.reached.get(("story", story_of(plan.variant_id)))
    known = own_methods(component, None if story is None else story.origin)
    if name in known and issubclass(real_class(live), component):
        return getattr(live, name)
    raise RequestError(
        "cannot_run",
        f"{name!r} is none of the public methods that the story's own class defines "
        f"({', '.join(known) or 'there is none'}): what an agent writes calls no other.",
    )


def _is_persons(plan: Plan, entry: Entry) -> bool:
    """Return whether the person wrote an entry, a variant for the component that runs."""
    if is_agents(entry.origin) or entry.kind != "variant":
        return not is_agents(entry.origin)
    story = REGISTRY.find("story", story_of(entry.id))
    return story is not None and story.body.component == plan.story.component


def _sends(entry: Entry, event: Event) -> bool:
    body = entry.body
    if entry.kind == "variant":
        sent = [*body.events, *body.loaders_teardown]
        arg = next(iter(event[1]), "") if len(event[1]) == 1 else ""
        return _is_among(event, sent) or body.args_to_events.get(arg) == event[0]
    return isinstance(body, Decorator) and _is_among(event, [*body.init, *body.teardown])


def _is_among(event: Event, sent: list[Event]) -> bool:
    return any(event is one for one in sent)


def check_agents_layers(plan: Plan, layers: Iterable[Entry]) -> None:
    """Refuse entries of agents' that set args which they may not, as of today's code.

    A secret that a layer holds came from the person's story, which an agent's takes after.
    """
    base = {**plan.args, **plan.dispatched}
    layers = list(layers)
    if any(entry.kind in ("story", "variant") for entry in layers):
        _check_foreign_secrets(plan)
    for entry in layers:
        if entry.kind == "variant" and (
            sent := sent_secrets(plan.component, entry.body.args_to_events, base)
        ):
            raise RequestError("cannot_run", f"{plan.variant_id}: {' '.join(sent)}")
        args = {n: v for n, v in _set_by(entry).items() if real_class(v) is not Secret}
        where = f"{entry.kind} {entry.id!r}: args"
        if faults := given_faults(plan.component, args, where=where, base=base):
            raise RequestError("cannot_run", f"{plan.variant_id}: {' '.join(faults)}")


def _check_foreign_secrets(plan: Plan) -> None:
    """Refuse a plan that hands the secret of a variant to another component than it was set for."""
    chain = [e for e in plan.reached.values() if e is not None and e.kind == "variant"]
    for entry in filter(_holds_secret, chain):
        theirs = REGISTRY.find("story", story_of(entry.id))
        if theirs is None or theirs.body.component != plan.story.component:
            raise RequestError(
                "cannot_run",
                f"{plan.variant_id}: variant {entry.id!r} holds a secret for another story's "
                "component.",
            )


def _holds_secret(entry: Entry) -> bool:
    body = entry.body
    return any(map(sensitive_paths, (body.args, [*body.events, *body.loaders_teardown])))


def _set_by(entry: Entry) -> Mapping[str, Any]:
    """Return the args that an entry sets; a decorator's patch sets what stands at its paths."""
    if entry.kind != "decorator":
        return entry.body.args
    found: dict[str, Any] = {}
    for path, value in entry.body.patch.items():
        head, *below = parse_path(path)
        for step in reversed(below):
            value = {step: value}
        found = merge(found, {str(head): value})
    return found


def check_loaded(variant_id: str, entries: Iterable[Entry]) -> None:
    """Refuse entries of agents' that take a secret from a loader, as of what is registered now."""
    for entry in entries:
        where = f"{entry.kind} {entry.id!r}"
        # What an agent's story takes after holds the person's own refs, in secret places.
        refs = ref_places(held_data(entry))
        open_refs = [ref for _, ref, inside in refs if not inside]
        if faults := loader_faults(open_refs, where=where):
            raise RequestError("cannot_run", f"{variant_id}: {' '.join(faults)}")


def check_handed(plan: Plan, entries: Iterable[Entry]) -> None:
    """Refuse a plan in which entries of agents' hand anything to a component that takes nothing."""
    story_id = story_of(plan.variant_id)
    story = plan.reached.get(("story", story_id))
    if story is not None and is_agents(story.origin) and _is_closed_since(story.body):
        raise RequestError(
            "cannot_run",
            f"{plan.variant_id}: the person registered the component of story {story_id!r} with "
            "agent_overrides=False since. Register the story again.",
        )
    for entry in entries:
        # Of an agent's story, what is its own was refused when it was registered.
        fault = "" if entry.kind == "story" else override_fault(story_id, plan.story, entry.body)
        if fault:
            text = f"{plan.variant_id}: {entry.kind} {entry.id!r} of an agent: {fault}"
            raise RequestError("cannot_run", text)


def _is_closed_since(story: Story) -> bool:
    """Return whether every story of the person's over the same component refuses by now."""
    if not story.agent_overrides:
        return False
    entries = REGISTRY.snapshot("story").values()
    theirs = [e.body for e in entries if not is_agents(e.origin)]
    same = [body for body in theirs if body.component == story.component]
    return bool(same) and not any(body.agent_overrides for body in same)


def open_mode_secrets(plan: Plan) -> list[str]:
    """Say which active modes of the person's bring a secret to an open arg of another component.

    A mode that the person's own story or variant names is meant for it.
    """
    meant = {
        word
        for entry in plan.reached.values()
        if entry is not None and entry.kind in ("story", "variant") and not is_agents(entry.origin)
        for word in entry.body.modes
    }
    modes = [e for id in plan.modes if id not in meant and (e := REGISTRY.find("mode", id))]
    found = [(mode.id, name) for mode in modes for name in _open_args(plan, mode)]
    return [
        f"mode {id!r} brings a secret to {name!r}, which {plan.variant_id} keeps open: only the "
        f"person activates it here. Use another mode, or let the person register the story with "
        f"modes=[{id!r}] or the parameter as Annotated[..., Sensitive]."
        for id, name in found
    ]


def _open_args(plan: Plan, mode: Entry) -> list[str]:
    """Name the args of a mode that hold a secret where a plan's component declares none."""
    from repl_pair.runtime.authoring.agent_loaders import secret_loaders_in

    args, hints = mode_args(mode), parameter_hints(plan.component)
    loaders, sent = secret_loaders_in(args), plan.variant.args_to_events
    read = {n: ANYTHING if n in sent else read_hint(hints.get(n, Any)) for n in args}
    return [name for name, value in args.items() if _is_open(name, value, read[name], loaders)]


def _is_open(key: Any, value: Any, hint: Hint, loaders: Collection[str]) -> bool:
    """Return whether a secret stands in a value where neither hint, name nor class says so."""
    if hint.sensitive or is_secret_key(str(key)) or type(value) is Record:
        return False
    if type(value) is Secret:
        return True
    if type(value) is Ref:
        return value.loader in loaders
    pairs = value.items() if is_map(value) else enumerate(value if _is_many(value) else ())
    return any(_is_open(key, item, item_hint(hint, key), loaders) for key, item in pairs)


def _is_many(value: Any) -> bool:
    return is_row(value) or is_set(value)
