"""What a body that an agent writes may hold: bounded data, over ids that exist."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.authoring import composing, shared, stories
from repl_pair.runtime.authoring.agent_data import (
    data_faults,
    given_faults,
    override_fault,
    sent_secrets,
)
from repl_pair.runtime.authoring.agent_lines import (
    check_events,
    check_override,
    check_path,
    check_play,
    check_plays,
    check_uses,
)
from repl_pair.runtime.authoring.agent_reading import (
    SHOWN,
    Reading,
    check_refs,
    refusal,
    refuse_refs,
    rows_of,
)
from repl_pair.runtime.authoring.args import freeze_args
from repl_pair.runtime.authoring.lines import read_arg_events
from repl_pair.runtime.registry.extending import chain_of, lay_over
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import NAMED, Entry, Story, Variant
from repl_pair.runtime.signatures.arguments import check_arguments
from repl_pair.runtime.signatures.schema import Schema, parameters_schema
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.data import read_data
from repl_pair.runtime.values.frozen import merge, sensitive_paths

_TEXT: Schema = {"type": "string"}
_NULLABLE = frozenset({"response"})
"""The slots in which null means something."""
_PERSONS = frozenset(
    {"component", "wrap", "state", "tier", "thread_safe", "agent_overrides", "marks"}
)


@record
class Form:
    """How one kind is written: the person's function, the slots added, and how each is read."""

    write: Callable[..., Any]
    added: Mapping[str, Schema]
    without: frozenset[str] = _PERSONS

    @property
    def schema(self) -> Schema:
        """Return the schema of a body: the function's own parameters that are data."""
        schema = parameters_schema(self.write, skip={"id", *self.without})
        properties = {n: s for n, s in schema["properties"].items() if n not in self.added}
        required = [n for n in schema["required"] if n in properties or n in self.added]
        required += [n for n, s in self.added.items() if s.get("needed") and n not in required]
        return schema | {
            "properties": properties | dict(self.added),
            "required": required,
            "additionalProperties": False,
        }


FORMS: Mapping[str, Form] = {
    "story": Form(
        write=stories.story,
        added={"component_of": _TEXT | {"needed": True}},
        without=_PERSONS | {"variants"},
    ),
    "variant": Form(write=stories.variant, added={}),
    "workspace": Form(write=composing.workspace, added={}),
    "mode": Form(write=shared.mode, added={}),
    "decorator": Form(
        write=composing.decorator,
        added={
            "kind": {"type": "string", "enum": ["frame_setup", "fx_override"], "needed": True},
            "response": {},
            "responses": {"type": "array"},
        },
    ),
    "tag": Form(write=shared.tag, added={}),
    "panel": Form(write=composing.panel, added={"render": _TEXT}),
}


def read_body(kind: str, where: str, body: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """Return what the person's function for this kind takes; AuthoringError names every fault."""
    form = FORMS[kind]
    schema = form.schema
    refused = sorted(form.without.intersection(body))
    reading.add_faults(
        *check_arguments(schema, {k: v for k, v in body.items() if k not in refused})
    )
    if refused:
        reading.add_faults(f"{', '.join(refused)}: no slot of yours; {_why(refused)}.")
    if kind == "decorator" and body.get("kind") == "wrap":
        known = {id: reading.find("decorator", id) for id in reading.ids("decorator")}
        wraps = [id for id, entry in known.items() if entry and entry.body.kind == "wrap"]
        reading.add_faults(
            "kind: a wrap is a function, which only the person registers; name one that exists in "
            f"the `decorators` of a variant ({', '.join(wraps[:SHOWN]) or 'there is none yet'})."
        )
    slots: dict[str, Any] = {}
    for name, value in body.items():
        part: Schema | None = schema["properties"].get(name)
        if part is None or (value is None and name not in _NULLABLE):
            continue
        if not check_arguments({"properties": {name: part}, "required": []}, {name: value}):
            slots[name] = _read_slot(reading, name, value, part)
    if not slots.keys().isdisjoint(composing.DECORATORS["fx_override"]):
        check_override(reading, where, slots)
    if reading.story is not None:
        _check_args(reading, reading.story, slots, where)
    if reading.faults:
        faults = (fault.removeprefix(f"{where}: ") for fault in reading.faults)
        raise refusal(" ".join(dict.fromkeys(faults)), where=where)
    return slots


def _read_slot(reading: Reading, name: str, value: Any, schema: Schema) -> Any:
    redacted = name in ("play", "plays")
    before = len(reading.faults)
    read = reading.read(lambda: read_data(value, name, classes=False, redacted=redacted))
    if schema.get("type") == "object" and not is_map(read):
        reading.add_faults(
            f"{name}: expected an object of names; a loader's ref stands for one value."
        )
    if len(reading.faults) > before:
        return None
    (check_refs if name in ("args", "events") else refuse_refs)(reading, name, read)
    if name in CHECKS:
        CHECKS[name](reading, name, read)
    else:
        reading.add_faults(*data_faults(read, where=name))
    return read


def _why(slots: Sequence[str]) -> str:
    if slots == ["variants"]:
        return "register each variant by itself, with register_variant"
    why = (
        "component, wrap, state, tier, thread_safe, agent_overrides and marks are the person's: an "
        "agent writes data over ids that exist"
    )
    over = "; component_of='the id of a story' takes over its component"
    return why + over if "component" in slots else why


def _check_args(reading: Reading, of: Entry, body: Mapping[str, Any], where: str) -> None:
    story: Story = of.body
    component = story.component.resolve()
    reading.add_faults(override_fault(of.id, story, body))
    parent: Any = body.get("extends")
    entry = reading.find("variant", parent) if isinstance(parent, str) else None
    chained = lay_over(chain_of(entry)) if entry else Variant()
    held = (chained.args, [*chained.events, *chained.loaders_teardown])
    if any(map(sensitive_paths, held)):
        above = reading.find("story", story_of(parent))
        if above is None or above.body.component != story.component:
            reading.add_faults(
                f"extends: {parent!r} holds a secret for the component of another story."
            )
    base = merge(story.args, chained.args)
    own = _sent(reading, body.get("args_to_events"))
    reading.add_faults(*sent_secrets(component, own, base))
    args: Any = body.get("args") or {}
    reading.add_faults(*given_faults(component, args, where="args", base=base))
    sent: dict[str, str] = {**chained.args_to_events, **own}
    for name, value in args.items():
        one = {name: value}
        reading.read(partial(freeze_args, where, component, one, dispatched=sent, pinned=False))


def _ids_of(kind: str) -> Callable[[Reading, str, Any], None]:
    mark = "!" if kind in ("tag", "mode") else ""  # heads one that is taken out

    def check(reading: Reading, slot: str, value: Any) -> None:
        for id in value if is_row(value) else [value]:
            reading.entry(kind, id.removeprefix(mark) if isinstance(id, str) else id, slot)

    return check


def _check_condition(reading: Reading, slot: str, value: Any) -> None:
    if isinstance(value, str):
        reading.entry("derived", value, slot)
    elif not is_row(value):
        reading.add_faults(
            f"{slot}: {value!r:.60} is neither a condition's id nor a list of effects."
        )
    elif odd := [name for name in value if not isinstance(name, str) or "." in name]:
        reading.add_faults(f"{slot}: {odd[0]!r:.60} is not an effect.")


def _sent(reading: Reading, given: Any) -> Mapping[str, str]:
    return reading.read(lambda: read_arg_events("args_to_events", given or {})) or {}


def _check_content(reading: Reading, slot: str, blocks: Any) -> None:
    rows = rows_of(reading, slot, blocks)
    ids = [block["variant"] for block in rows if is_map(block) and "variant" in block]
    _ids_of("variant")(reading, slot, ids)


def _check_patch(reading: Reading, slot: str, patch: Any) -> None:
    for path, value in patch.items():
        check_path(reading, slot, path)
        reading.add_faults(*data_faults(value, where=f"{slot} {path}"))


CHECKS: Mapping[str, Callable[[Reading, str, Any], None]] = {
    **{slot: _ids_of(kind) for slot, kind in NAMED.items()},
    "args_to_events": lambda reading, slot, value: check_events(
        reading, slot, list(_sent(reading, value).values())
    ),
    "component_of": _ids_of("story"),
    "content": _check_content,
    "decorators": check_uses,
    "events": check_events,
    "extends": _ids_of("variant"),
    "init": check_events,
    "loaders_complete_when": _check_condition,
    "loaders_teardown": check_events,
    "patch": _check_patch,
    "play": check_play,
    "plays": check_plays,
    "teardown": check_events,
}
"""How the slots that name something are checked; all others hold plain data."""
