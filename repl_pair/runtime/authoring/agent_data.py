"""What an agent's data may be: no secret, no code, and none at all where a story takes none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.runtime.authoring.lines import named_steps
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Story
from repl_pair.runtime.values.classes import class_behind, is_map, is_row, is_set, real_class
from repl_pair.runtime.values.code_hints import code_in, field_hints, inner_hint
from repl_pair.runtime.values.frozen import Record, Ref, Secret, sensitive_paths
from repl_pair.runtime.values.hints import read_hint, takes_of
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import join_path
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
    if real_class(base) is Secret or read_hint(hint).sensitive:
        return [f"{where} {_SECRET}."]
    if value is None or real_class(value) is Ref:
        return []
    if code := code_in(hint):
        return [f"{where} takes {code}: an agent gives data only; leave it out."]
    if is_map(value):
        if found := sorted(_MARKERS.intersection(value)):
            return [f"{where} is the mark {found[0]!r} of what was cut; read_more gives the rest."]
        if real_class(base) is not Record:
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
    secret = {path[0] for path in sensitive_paths(base)} | takes_of(component).secret
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
    if not is_row(line) or not line:
        return False
    if line[0] == "dispatch":
        return any(map(_gives, line[1:]))
    return line[0] == "set" or (line[0] == "call" and _gives(line[1:]))


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
    if real_class(base) is Record:
        return _part(base.fields, key)
    if is_map(base):
        return base.get(key)
    rows: Sequence[Any] = base if is_row(base) else ()
    return rows[key] if isinstance(key, int) and key < len(rows) else None
