"""How a registration of an agent's is checked and entered."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from repl_pair.errors import AuthoringError, RequestError, did_you_mean, next_step
from repl_pair.records import to_dict
from repl_pair.runtime.authoring.agent_bodies import FORMS, read_body
from repl_pair.runtime.authoring.agent_reading import Reading, check_size
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.op_base.answers import Identity
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.corrections import free_id
from repl_pair.runtime.op_base.tier_names import shown_text
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.ids import check_id, story_of
from repl_pair.runtime.registry.model import KINDS, Entry, Function, Story
from repl_pair.runtime.registry.origin import BUILTIN, agent_origin, may_replace
from repl_pair.runtime.registry.registry import REGISTRY, is_over, taken
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.sessions.open_sessions import OPEN
from repl_pair.runtime.values.frozen import merge

PACKAGE = "repl_pair"


class Replaced(TypedDict):
    """The caller's entry that a new one took the place of."""

    by: str
    revision: int


class Registered(TypedDict):
    """What was registered; `identity` of a variant that can be planned."""

    kind: str
    id: str
    revision: int
    origin: str
    replaced: NotRequired[Replaced]
    identity: NotRequired[Identity]


def enter_body(
    call: Call, kind: str, id: str, body: Mapping[str, Any], *, is_sent: bool = True
) -> Registered:
    """Register what an agent wrote, or refuse it whole; gives what was registered.

    `is_sent` where the body came from the caller as it is. An id of the package's own, of
    the person or of another agent is `bad_id`, a body that does not fit `bad_body`.
    """
    try:
        check_size(body)
        if _is_of_package(id):
            raise AuthoringError("bad_id", f"{id!r}: ids under {PACKAGE!r} are the package's own.")
        id = check_id(kind, KINDS[kind].grammar, id)
        origin = agent_origin(call.view.principal, [id, body] if is_sent else [id])
        old = REGISTRY.find(kind, id)
        is_hidden = old is not None and call.view.tier not in (None, old.tier)
        story = _story(call, kind, id, body)
        reading = Reading(
            find=lambda kind, id: _usable_entry(call, kind, id),
            ids=lambda kind: _usable_ids(call, kind),
            story=story,
        )
        slots = read_body(kind, f"{kind} {id!r}", body, reading) | {"tier": call.view.tier}
        # After the body: only a whole registration, which the person sees, asks for an id that is
        # hidden, and the next step repeats the body.
        if is_hidden:
            raise _unusable(id)
        if old is not None and not may_replace(origin, old.origin):
            raise taken(old)
        if kind == "story" and story is not None:
            _keep_component(call, id, story.body)
        decide(call)
        with entering_from(origin):
            _write(call, kind, id, slots, reading)
        OPEN.count_one(call.owner, "registered")
    except AuthoringError as error:
        if error.code == "bad_id" and REGISTRY.find(kind, id):
            call.suggest(f"register_{kind}", **{f"{kind}_id": free_id(kind, id)}, body=body)
        elif not error.next_steps and error.code != "bad_id" and kind in ("variant", "story"):
            if kind == "variant":
                call.suggest("get_story", story_id=story_of(id))
            else:
                call.suggest("list_stories")
        raise
    return _answer(call, kind, id, old)


def decide(call: Call) -> None:
    """Change nothing for a caller who was answered already: `cancelled`."""
    if call.cancelled.is_set() or not call.decide():
        raise RequestError("cancelled", "The call ended before anything was changed.")


def _is_of_package(id: str) -> bool:
    return id.replace("/", ".").partition(".")[0].casefold() == PACKAGE


def _usable_entry(call: Call, kind: str, id: str) -> Entry | None:
    """Return an entry that a body of this view may name: visible, or of what all views share."""
    entry = REGISTRY.find(kind, id)
    usable = entry is not None and _is_usable(call, entry) and not _is_of_package(id)
    return entry if usable else None


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


def _unusable(id: str) -> AuthoringError:
    return AuthoringError("bad_id", f"The id {id!r} cannot be used; pick another.")


def _keep_component(call: Call, id: str, story: Story) -> None:
    """Refuse another component under variants that were checked against what stood there."""
    if is_over(id, story.component):
        return
    if REGISTRY.ids("variant", f"{id}/"):
        if not visible_ids(call.view, "variant", f"{id}/"):
            raise _unusable(id)
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
        assert reading.story is not None, id
        story: Story = reading.story.body
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
        text = shown_text(call, error.message, own=id)
        raise AuthoringError(error.code, text, next_steps=error.next_steps) from error


def _answer(call: Call, kind: str, id: str, old: Entry | None) -> Registered:
    entry = REGISTRY.find(kind, id)
    answer: dict[str, Any] = {"kind": kind, "id": id}
    if old is not None:
        answer["replaced"] = {"by": old.origin.label, "revision": old.revision}
    if entry is not None:
        answer |= {"revision": entry.revision, "origin": entry.origin.label}
        if kind == "variant":
            try:
                answer["identity"] = to_dict(plan_variant(entry.id).identity)
            except RequestError as error:
                call.notifications.append(f"It cannot run yet: {error.message}")
        _warn(call, kind, entry.body)
    steps = {
        "story": next_step("register_variant", variant_id=f"{id}/First", body={}),
        "variant": next_step("run_variant", variant_id=id),
        "tag": next_step("list_variants", tags=[id]),
        "workspace": next_step("get_workspace", workspace_id=id),
        "decorator": next_step("get_decorator", decorator_id=id),
        "panel": next_step("list_panels"),
    }
    if kind == "mode" and (variants := visible_ids(call.view, "variant")):
        steps["mode"] = next_step("run_variant", variant_id=variants[0], modes=[id])
    if kind in steps:
        call.next_steps.append(steps[kind])
    call.suggest("unregister", kind=kind, id=id)
    return cast("Registered", answer)


def _warn(call: Call, kind: str, body: Any) -> None:
    """Describe what is valid and perhaps not meant."""
    if kind == "variant" and not (body.play or body.plays):
        call.notifications.append(
            "It asserts nothing: its play is empty, and one that it extends is not taken over."
        )
    if kind == "decorator" and body.effect and body.effect not in _usable_ids(call, "effect"):
        call.notifications.append(
            f"Nothing is registered as the effect {body.effect!r}; it is answered for where a "
            f"component emits it.{did_you_mean(body.effect, _usable_ids(call, 'effect'))}"
        )
