"""How a registration of an agent's is checked and entered."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.records import to_dict
from repl_pair.runtime.authoring.agent_bodies import FORMS, read_body
from repl_pair.runtime.authoring.agent_reading import Reading, weigh
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.ops.answers import Registered
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.correcting import free_id
from repl_pair.runtime.ops.tier_names import shown_text
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.ids import check_id, story_of
from repl_pair.runtime.registry.model import KINDS, Entry, Function, Story
from repl_pair.runtime.registry.origin import BUILTIN, agent_origin, is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.values.frozen import merge

PACKAGE = "repl_pair"


def enter_body(call: Call, kind: str, id: str, body: Mapping[str, Any]) -> Registered:
    """Register what an agent wrote, or refuse it whole; gives what was registered."""
    try:
        weigh(body)
        if _is_of_package(id):
            raise AuthoringError("bad_id", f"{id!r}: ids under {PACKAGE!r} are the package's own.")
        id = check_id(kind, KINDS[kind].grammar, id)
        old = _replaceable(call, kind, id)
        story = _story(call, kind, id, body)
        if kind == "story" and story is not None:
            _keep_component(id, story.body)
        reading = Reading(
            find=lambda kind, id: _usable_entry(call, kind, id),
            ids=lambda kind: _usable_ids(call, kind),
            story=None if story is None else story.body,
            story_id="" if story is None else story.id,
            origin=None if story is None else story.origin,
        )
        slots = read_body(kind, f"{kind} {id!r}", body, reading) | {"tier": call.view.tier}
        decide(call)
        with entering_from(agent_origin(call.view.principal)):
            _write(call, kind, id, slots, reading)
    except AuthoringError as error:
        if error.code == "bad_id" and REGISTRY.find(kind, id):
            call.suggest(f"register_{kind}({kind}_id={free_id(kind, id)!r}, body={{...}})")
        elif error.code != "bad_id" and kind in ("variant", "story"):
            named = f"get_story(story_id={story_of(id)!r})"
            call.suggest(named if kind == "variant" else "list_stories()")
        raise
    return _answer(call, kind, id, old)


def decide(call: Call) -> None:
    """Change nothing for a caller who was answered already."""
    if call.cancelled.is_set() or not call.decide():
        raise RequestError("cancelled", "The call ended before anything was changed.")


def _is_of_package(id: str) -> bool:
    return id.replace("/", ".").partition(".")[0].casefold() == PACKAGE


def _usable_entry(call: Call, kind: str, id: str) -> Entry | None:
    """Return an entry that a body of this view may name: visible, or of what all views share."""
    entry = REGISTRY.find(kind, id) if kind in KINDS else None
    return (
        entry if entry is not None and _is_usable(call, entry) and not _is_of_package(id) else None
    )


def _usable_ids(call: Call, kind: str) -> Sequence[str]:
    ids = REGISTRY.ids(kind)
    if call.view.tier is None:
        return ids
    entries = REGISTRY.snapshot(kind)
    return [id for id in ids if id in entries and _is_usable(call, entries[id])]


def _is_usable(call: Call, entry: Entry) -> bool:
    """Functions and what ships have no tier of their own."""
    shared = entry.origin.key == BUILTIN or KINDS[entry.kind].body is Function
    return shared or call.view.tier in (None, entry.tier)


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
    return _usable_entry(call, "story", named)


def _write(call: Call, kind: str, id: str, slots: dict[str, Any], reading: Reading) -> None:
    """Register through the person's own function, whose refusals may name what is out of view.

    A story of an agent's keeps all of the person's but what it sets itself.
    """
    if kind == "story":
        story = reading.story
        assert story is not None, id
        del slots["component_of"]
        slots |= {
            "component": story.component.resolve(),
            "state": None if story.state is None else story.state.resolve(),
            "thread_safe": story.thread_safe,
            "agent_overrides": story.agent_overrides,
            "args": merge(story.args, slots.get("args") or {}),
            "decorators": [*story.decorators, *(slots.get("decorators") or ())],
            "substrates": slots.get("substrates") or story.substrates,
            "doc": slots.get("doc") or story.doc,
        }
    try:
        FORMS[kind].write(id, **slots)
    except AuthoringError as error:
        raise AuthoringError(error.code, shown_text(call, error.message, own=id)) from error


def _answer(call: Call, kind: str, id: str, old: Entry | None) -> Registered:
    entry = REGISTRY.find(kind, id)
    answer: dict[str, Any] = {"kind": kind, "id": id}
    if entry is not None:
        answer |= {"revision": entry.revision, "origin": entry.origin.label}
    if old is not None:
        answer["replaced"] = {"by": old.origin.label, "revision": old.revision}
    if entry is not None and kind == "variant":
        try:
            answer["identity"] = to_dict(plan_variant(entry.id).identity)
        except RequestError as error:
            call.notifications.append(f"It cannot run yet: {error.message}")
    if entry is not None:
        _warn(call, kind, entry.body)
    steps = {
        "story": f"register_variant(variant_id={f'{id}/First'!r}, body={{}})",
        "variant": f"run_variant(variant_id={id!r})",
        "tag": f"list_variants(tags=[{id!r}])",
        "workspace": f"get_workspace(workspace_id={id!r})",
        "decorator": f"get_decorator(decorator_id={id!r})",
        "panel": "list_panels()",
    }
    if kind == "mode" and (variants := visible_ids(call.view, "variant")):
        steps["mode"] = f"run_variant(variant_id={variants[0]!r}, modes=[{id!r}])"
    if kind in steps:
        call.suggest(steps[kind])
    call.suggest(f"unregister(kind={kind!r}, id={id!r})")
    return cast("Registered", answer)


def _warn(call: Call, kind: str, body: Any) -> None:
    """Describe what is legal and perhaps not meant."""
    if kind == "variant" and not (body.play or body.plays):
        call.notifications.append(
            "It asserts nothing: its play is empty, and one that it extends is not taken over."
        )
    if kind == "decorator" and body.effect and body.effect not in _usable_ids(call, "effect"):
        call.notifications.append(
            f"Nothing is registered as the effect {body.effect!r}; it is answered for where a "
            f"component emits it.{did_you_mean(body.effect, _usable_ids(call, 'effect'))}"
        )
