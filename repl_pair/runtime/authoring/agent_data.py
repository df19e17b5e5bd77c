"""What an agent's data may be: no secret, no code, and none at all where a story takes none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.runtime.authoring.lines import named_steps
from repl_pair.runtime.authoring.shared import GLOBAL_ARGS
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Component, Entry, Story
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import STEPS
from repl_pair.runtime.secrets.entries import slots_of
from repl_pair.runtime.signatures.code_hints import code_in, field_hints, inner_hint
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values import frozen
from repl_pair.runtime.values.classes import class_behind, is_map, is_row, is_set, real_class
from repl_pair.runtime.values.hints import read_hint
from repl_pair.runtime.values.marks import is_secret_key, is_secret_label
from repl_pair.runtime.values.paths import join_path
from repl_pair.runtime.values.takes import takes_of
from repl_pair.wire import ELIDED, OVERFLOW, REDACTED

_MARKERS = frozenset({ELIDED, OVERFLOW, "$image"})
_SECRET = "is a secret: only the person sets it; leave it out"
_VALUES = ("args", "args_to_events", "patch", "responses")
_CALLS = ("events", "init", "teardown", "loaders_teardown", "decorators")
_REMEDY = (
    "Leave them out: extend a variant of this story, activate its modes, dispatch events without "
    "a payload, assert; what else it is to be given the person registers"
)


def given_faults(
    fn: Callable[..., Any],
    given: Mapping[str, Any],
    *,
    where: str,
    base: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return what is wrong with data that a function or class is called with; none if it may.

    `base` is what the data is laid over, frozen: fields of an instance keep their class.
    """
    return _map_faults(given, takes_of(fn).hints, base or {}, where)


def data_faults(value: Any, *, where: str, hint: Any = Any, base: Any = None) -> list[str]:
    """Return what is wrong with data that is read by a hint; none if it may be given."""
    if real_class(base) is frozen.Secret or read_hint(hint).sensitive:
        return [f"{where} {_SECRET}."]
    if value is None or real_class(value) is frozen.Ref:
        return []
    if code := code_in(hint):
        return [f"{where} takes {code}: an agent gives data only; leave it out."]
    if is_map(value):
        if found := sorted(_MARKERS.intersection(value)):
            return [f"{where} is the mark {found[0]!r} of what was cut; read_more gives the rest."]
        if real_class(base) is not frozen.Record:
            return _map_faults(value, {k: inner_hint(hint, k) for k in value}, base, where)
        kept: Any = class_behind(base.type, where)
        if code := code_in(kept):
            return [f"{where} takes {code}: an agent gives data only; leave it out."]
        return _map_faults(value, field_hints(kept), base.fields, where)
    if is_row(value) or is_set(value):
        faults: list[str] = []
        for i, part in enumerate(value):
            inner, here = inner_hint(hint, i), f"{where}[{i}]"
            faults += data_faults(part, where=here, hint=inner, base=_part(base, i))
        return faults
    if value == REDACTED:
        return [f"{where} is the mark of a secret, not its value; leave it out."]
    return []


def sent_secrets(
    component: Callable[..., Any], events: Iterable[str], base: Mapping[str, Any]
) -> list[str]:
    """Return what is wrong with args that an agent sends as events: a secret may not be sent."""
    secret = {path[0] for path in frozen.sensitive_paths(base)} | takes_of(component).secret
    return [
        f"args_to_events: {arg!r} is a secret, which goes to nothing but the component."
        for arg in events
        if arg in secret or is_secret_key(str(arg))
    ]


def override_fault(story_id: str, story: Story, slots: Mapping[str, Any]) -> str:
    """Return what the slots of a body hand to a component whose story refuses that."""
    if story.agent_overrides:
        return ""
    found = [slot for slot in _VALUES if slots.get(slot)]
    found += [slot for slot in _CALLS if any(map(_gives, slots.get(slot) or ()))]
    plays = [slots.get("play"), *(steps for _, steps in named_steps(slots.get("plays")))]
    lines = [line for steps in plays if is_row(steps) for line in steps]
    found += dict.fromkeys(f"step {line[0]!r:.40}" for line in lines if _hands(line))
    parent: Any = slots.get("extends")
    if parent and story_of(parent) != story_id:
        found.append(f"extends {parent!r}")
    return refused_overrides(story_id, found) if found else ""


def refused_overrides(story_id: str, found: Iterable[str]) -> str:
    """Report that a story takes nothing of what an agent gives."""
    return (
        f"{', '.join(found)}: story {story_id!r} is registered with agent_overrides=False: it "
        f"takes no data from agents. {_REMEDY}."
    )


def _gives(call: Any) -> bool:
    return is_row(call) and len(call) > 1 and bool(call[1])


def _hands(line: Any) -> bool:
    """Return whether a line of a play comes with data; what assertions compare with is none."""
    step = STEPS.get(str(line[0])) if is_row(line) and line else None
    return step is not None and step.hands(line[1:])


def _map_faults(
    given: Mapping[Any, Any], hints: Mapping[str, Any], base: Any, where: str
) -> list[str]:
    faults: list[str] = []
    for key, value in given.items():
        here = join_path(where, key)
        if isinstance(key, str) and is_secret_key(key):
            faults.append(f"{here} {_SECRET}.")
        else:
            hint = hints.get(key, Any)
            faults += data_faults(value, where=here, hint=hint, base=_part(base, key))
    return faults


def _part(base: Any, key: Any) -> Any:
    if real_class(base) is frozen.Record:
        return _part(base.fields, key)
    if is_map(base):
        return base.get(key)
    rows: Sequence[Any] = base if is_row(base) else ()
    return rows[key] if isinstance(key, int) and key < len(rows) else None


_HOLDING = ("story", "mode", "variant", "decorator")
_SLOTS = ("args", "patch", *_CALLS, "play", "plays")


def loader_faults(data: Any, *, where: str) -> list[str]:
    """Name the loaders in an agent's data whose values are secrets; no place of its own is one."""
    return [
        f"{where}: what the loader {name!r} gives is a secret: only the person says where it goes."
        for name in sorted(secret_loaders_in(data))
    ]


def secret_loaders_in(data: Any) -> set[str]:
    """Name the loaders in frozen data whose values are secrets.

    Their own hints declare it, the person uses them at a secret place, or what the ref passes to
    one is the name of a secret.
    """
    refs = frozen.refs_in(data)
    wanted = {ref.loader for ref in refs}
    if not wanted:
        return wanted
    entries = [entry for name in wanted if (entry := REGISTRY.find("loader", name)) is not None]
    found = {e.id for e in entries if takes_of(e.body.component.resolve()).gives_secret}
    names = _secret_names()
    held_by_person: list[Any] = [STORE.get(GLOBAL_ARGS.name)]
    for kind in _HOLDING:
        for entry in REGISTRY.snapshot(kind).values():
            held_by_person += [] if is_agents(entry.origin) else held_data(entry)
    found |= {
        ref.loader
        for held in held_by_person
        for place, ref, inside in frozen.ref_places(held)
        if inside or any(word in names or is_secret_key(word) for word in place)
    }
    found |= {ref.loader for ref in refs if any(map(is_secret_label, frozen.texts_in(ref.kwargs)))}
    return wanted & found


def refs_of_agents(entries: Iterable[Entry]) -> list[frozen.Ref]:
    """Return the refs in what agents registered that stand in nothing that the person did."""
    found: dict[bool, list[frozen.Ref]] = {True: [], False: []}
    for entry in entries:
        for data in held_data(entry):
            found[is_agents(entry.origin)] += frozen.refs_in(data)
    return [ref for ref in found[True] if ref not in found[False]]


def held_data(entry: Entry) -> list[Any]:
    """Return all data in an entry's body that may hold a ref, steps too."""
    slots = slots_of(entry.body)
    return [slots.get(name) for name in _SLOTS]


def _secret_names() -> set[str]:
    bodies = [e.body for kind in REGISTRY.kinds for e in REGISTRY.snapshot(kind).values()]
    parts = [getattr(body, slot, None) for body in bodies for slot in ("component", "wrap")]
    takers = [part.resolve() for part in parts if isinstance(part, Component)]
    members = [
        getattr(member, "__func__", member)
        for cls in takers
        if isinstance(cls, type)
        for owner in cls.__mro__[:-1]
        for name, member in vars(owner).items()
        if not name.startswith("_")
    ]
    methods = filter(callable, members)
    return {name for taker in (*takers, *methods) for name in takes_of(taker).secret}
