"""How a registration of an agent's is checked, entered, corrected and taken out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.records import to_dict
from repl_pair.runtime.authoring.agent_bodies import FORMS, read_body, weigh
from repl_pair.runtime.authoring.agent_reading import WRITABLE, Reading
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.tier_names import shown_text
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.as_data import body_data
from repl_pair.runtime.registry.ids import check_id, story_of
from repl_pair.runtime.registry.model import KINDS, Entry, Function, Story, Variant
from repl_pair.runtime.registry.origin import agent_origin, is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.secrets.entries import secret_args_of, secrets_of_entry
from repl_pair.runtime.values.frozen import merge
from repl_pair.wire import REDACTED

__all__ = ["WRITABLE", "clear", "take_out"]


def take_out(call: Call, kind: str, id: str) -> dict[str, Any]:
    """Take out one entry of an agent's; RequestError for the person's and for none."""
    _check_kind(kind)
    ids = visible_ids(call.view, kind)
    entry = REGISTRY.find(kind, id) if id in ids else None
    if entry is None:
        mine = _of_agents(kind, ids)
        raise RequestError(
            "not_found",
            f"There is no {kind} {id!r}.{did_you_mean(id, mine)}",
            next_steps=[f"unregister(kind={kind!r}, id={one!r})" for one in list(mine)[:1]],
        )
    if not is_agents(entry.origin):
        raise RequestError(
            "cannot_run",
            f"{kind} {id!r} is not an agent's: {entry.origin.label} registered it, and only the "
            "person takes it out. Nothing was changed.",
        )
    decide(call)
    REGISTRY.unregister(kind, id, entry=entry)
    if kind == "story" and (variants := visible_ids(call.view, "variant", f"{id}/")):
        call.notifications.append(f"Without their story are now: {', '.join(variants[:10])}.")
    return {"kind": kind, "id": id, "unregistered": True}


def clear(call: Call, kinds: Iterable[str]) -> dict[str, Any]:
    """Take out all entries of agents' of these kinds; gives how many went, and how many stay."""
    kinds = list(kinds)
    for kind in kinds:
        _check_kind(kind)
    decide(call)
    removed: dict[str, list[str]] = {}
    left = 0
    for kind in kinds:
        ids = visible_ids(call.view, kind)
        mine = _of_agents(kind, ids)
        left += len(ids) - len(mine)
        if gone := [id for id, e in mine.items() if REGISTRY.unregister(kind, id, entry=e)]:
            removed[kind] = gone
    if left:
        call.notifications.append(
            f"{left} entries stay: the person's and the built-in ones are only theirs to take out."
        )
    return {"removed": removed, "total": sum(map(len, removed.values())), "left": left}


def _of_agents(kind: str, ids: Iterable[str]) -> dict[str, Entry]:
    entries = REGISTRY.snapshot(kind)
    return {id: entries[id] for id in ids if id in entries and is_agents(entries[id].origin)}


def _check_kind(kind: str) -> None:
    if kind not in WRITABLE:
        raise RequestError(
            "not_found",
            f"Agents register no {kind!r}.{did_you_mean(kind, WRITABLE)} "
            f"There are: {', '.join(WRITABLE)}.",
        )


MOST_CHARS = 600
"""How long a body may be that is said in a next step; the play is left out of a longer one."""


def correction(variant_id: str, status: str) -> Sequence[str]:
    """Return the call that corrects what does not pass, or takes out an agent's that does."""
    entry = REGISTRY.find("variant", variant_id)
    if entry is None:
        return ()
    own = is_agents(entry.origin)
    if status == "pass":
        return [f"unregister(kind='variant', id={variant_id!r})"] if own else ()
    id = variant_id if own else free_id("variant", variant_id)
    return [f"register_variant(variant_id={id!r}, body={_start(entry)})"]


def free_id(kind: str, id: str) -> str:
    """Return the next id like this one under which nothing is registered."""
    number = 2
    while REGISTRY.find(kind, f"{id}_{number}") is not None:
        number += 1
    return f"{id}_{number}"


def _start(entry: Entry) -> str:
    """Return the JSON of a body that is the variant's own again, without its secrets."""
    body: Variant = entry.body
    own = is_agents(entry.origin)
    above = _slots(body, "extends") if own else {"extends": entry.id}
    if secrets_of_entry(entry) or (not own and secret_args_of(entry)):
        return _write_correction(above) or "{}"
    plays = _slots(body, "play", "plays")
    whole = _write_correction({**above, **_slots(body, "args"), **plays})
    return whole or _write_correction({**above, **plays}) or _write_correction(above) or "{}"


def _slots(body: Variant, *names: str) -> Mapping[str, Any]:
    said = body_data(body)
    return {name: said[name] for name in names if name in said}


def _write_correction(slots: Mapping[str, Any]) -> str:
    text = json.dumps(slots, ensure_ascii=False)
    return text if len(text) <= MOST_CHARS and REDACTED not in text else ""


OURS = "repl_pair"


def enter_body(call: Call, kind: str, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Register what an agent wrote, or refuse it whole; gives what was registered."""
    where = f"{kind} {id!r}"
    try:
        weigh(body)
        id = check_id(kind, KINDS[kind].grammar, _own(id))
        old = _replaceable(call, kind, id)
        story = _story(call, kind, id, body)
        if kind == "story" and story is not None:
            _keep_component(id, story.body)
        reading = Reading(
            find=lambda kind, id: usable_entry(call, kind, id),
            ids=lambda kind: usable_ids(call, kind),
            story=None if story is None else story.body,
            story_id="" if story is None else story.id,
            origin=None if story is None else story.origin,
        )
        slots = read_body(kind, where, body, reading) | {"tier": call.view.tier}
        decide(call)
        with entering_from(agent_origin(call.view.principal)):
            _write(call, kind, id, slots, reading)
    except AuthoringError as error:
        _suggest_mending(call, kind, id, error)
        raise
    return _said(call, kind, id, old)


def usable_entry(call: Call, kind: str, id: str) -> Entry | None:
    """Return an entry that a body of this view may name: visible, or of what all views share."""
    entry = REGISTRY.find(kind, id) if kind in KINDS else None
    return entry if entry is not None and _is_usable(call, entry) and _is_foreign(id) else None


def usable_ids(call: Call, kind: str) -> Sequence[str]:
    """Return the ids of a kind that a body of this view may name, sorted."""
    ids = REGISTRY.ids(kind)
    if call.view.tier is None:
        return ids
    entries = REGISTRY.snapshot(kind)
    return [id for id in ids if id in entries and _is_usable(call, entries[id])]


def _is_usable(call: Call, entry: Entry) -> bool:
    """Functions and what ships have no tier of their own."""
    shared = entry.origin.key == "builtin" or KINDS[entry.kind].body is Function
    return shared or call.view.tier in (None, entry.tier)


def _is_foreign(id: str) -> bool:
    return id.replace("/", ".").partition(".")[0].casefold() != OURS


def _own(id: str) -> str:
    if not _is_foreign(id):
        raise AuthoringError("bad_id", f"{id!r}: ids under {OURS!r} are the package's own.")
    return id


def _replaceable(call: Call, kind: str, id: str) -> Entry | None:
    """Return the agent's entry that is replaced; AuthoringError for one of the person's."""
    old = REGISTRY.find(kind, id)
    if old is not None and call.view.tier not in (None, old.tier):
        raise AuthoringError("bad_id", f"The id {id!r} cannot be used; pick another.")
    if old is None or is_agents(old.origin):
        return old
    raise AuthoringError(
        "bad_id",
        f"The id {id!r} is taken by what the person registered, which an agent does not replace. "
        f"Pick another id, such as {free_id(kind, id)!r}.",
    )


def _keep_component(id: str, story: Story) -> None:
    """Refuse another component under variants that were checked against what stood there."""
    known = REGISTRY.find("story", id)
    if known is not None and known.body.component == story.component:
        return
    if any(variant.startswith(f"{id}/") for variant in REGISTRY.ids("variant")):
        raise AuthoringError(
            "bad_id",
            f"story {id!r}: there are variants of it, written for the component that it had; take "
            "them out first, or pick another id. Nothing was registered.",
        )


def _story(call: Call, kind: str, id: str, body: Mapping[str, Any]) -> Entry | None:
    """Return the story that a body is for: the variant's own, or the one that is taken after."""
    if kind == "variant":
        return visible_entry(call.view, "story", story_of(id))
    named = body.get("component_of")
    if kind != "story" or not isinstance(named, str):
        return None
    return usable_entry(call, "story", named)


def _write(call: Call, kind: str, id: str, slots: dict[str, Any], reading: Reading) -> None:
    """Register through the person's own function, whose refusals may name what is out of view."""
    if kind == "story":
        assert reading.story is not None, id
        slots.pop("component_of")
        slots |= _taken_after(reading.story, slots)
    try:
        FORMS[kind].write(id, **slots)
    except AuthoringError as error:
        raise AuthoringError(error.code, shown_text(call, error.message, own=id)) from error


def _taken_after(story: Story, slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a story of an agent's keeps of the person's: all but what it says of itself."""
    return {
        "component": story.component.resolve(),
        "state": None if story.state is None else story.state.resolve(),
        "thread_safe": story.thread_safe,
        "agent_overrides": story.agent_overrides,
        "args": merge(story.args, slots.get("args") or {}),
        "decorators": [*story.decorators, *(slots.get("decorators") or ())],
        "substrates": slots.get("substrates") or story.substrates,
        "doc": slots.get("doc") or story.doc,
    }


def decide(call: Call) -> None:
    """Change nothing for a caller who was answered already."""
    if call.cancelled.is_set() or not call.decide():
        raise RequestError("cancelled", "The call ended before anything was changed.")


def _said(call: Call, kind: str, id: str, old: Entry | None) -> dict[str, Any]:
    entry = REGISTRY.find(kind, id)
    answer: dict[str, Any] = {"kind": kind, "id": id}
    if entry is not None:
        answer |= {"revision": entry.revision, "origin": entry.origin.label}
    if old is not None:
        answer["replaced"] = {"by": old.origin.label, "revision": old.revision}
    if entry is not None and kind == "variant":
        answer |= _identity(call, entry)
    _warn(call, kind, entry)
    _suggest_next(call, kind, id)
    return answer


def _identity(call: Call, entry: Entry) -> dict[str, Any]:
    try:
        return {"identity": to_dict(plan_variant(entry.id).identity)}
    except RequestError as error:
        call.notifications.append(f"It cannot run yet: {error.message}")
        return {}


def _warn(call: Call, kind: str, entry: Entry | None) -> None:
    """Describe what is legal and perhaps not meant."""
    body = None if entry is None else entry.body
    if kind == "variant" and body is not None and not (body.play or body.plays):
        call.notifications.append(
            "It asserts nothing: its play is empty, and one that it extends is not taken over."
        )
    if kind == "decorator" and body is not None and body.effect:
        known = usable_ids(call, "effect")
        if body.effect not in known:
            near = did_you_mean(body.effect, known)
            call.notifications.append(
                f"Nothing is registered as the effect {body.effect!r}; it is answered for where a "
                f"component emits it.{near}"
            )


def _suggest_next(call: Call, kind: str, id: str) -> None:
    steps = {
        "story": f"register_variant(variant_id={f'{id}/First'!r}, body={{}})",
        "variant": f"run_variant(variant_id={id!r})",
        "tag": f"list_variants(tags=[{id!r}])",
        "workspace": f"get_workspace(workspace_id={id!r})",
        "decorator": f"get_decorator(decorator_id={id!r})",
        "panel": "list_panels()",
    }
    if kind == "mode" and (variants := visible_ids(call.view, "variant")):
        call.suggest(f"run_variant(variant_id={variants[0]!r}, modes=[{id!r}])")
    elif kind in steps:
        call.suggest(steps[kind])
    call.suggest(f"unregister(kind={kind!r}, id={id!r})")


def _suggest_mending(call: Call, kind: str, id: str, error: AuthoringError) -> None:
    if error.code == "bad_id":
        free = free_id(kind, id) if REGISTRY.find(kind, id) else None
        step = f"register_{kind}({kind}_id={free!r}, body={{...}})"
        call.suggest(*([step] if free else []))
    elif kind in ("variant", "story"):
        call.suggest(
            f"get_story(story_id={story_of(id)!r})" if kind == "variant" else "list_stories()"
        )
