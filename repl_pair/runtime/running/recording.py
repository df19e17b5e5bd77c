"""Recordings: what was dispatched to live objects, as a variant that dispatches it again."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.records import record as frozen_record
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.extending import check_parent
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.live import LISTENERS, Dispatched, Live, opening_id
from repl_pair.runtime.secrets.egress import holds_secret
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.values.data import to_json_data
from repl_pair.runtime.values.frozen import NotData, to_plain
from repl_pair.runtime.values.leaves import quoted
from repl_pair.runtime.values.python_text import Writer, are_keywords, call_text, list_text
from repl_pair.wire import REDACTED


@frozen_record
class Body:
    """The slots of a recorded variant as JSON data; `odd` names what has no text."""

    slots: Mapping[str, Any]
    odd: tuple[str, ...]


class Recording:
    """What live objects took between `start` and `stop`, in order; also a `with` block.

    An event whose payload holds a secret stays in its place as `[redacted]`.
    """

    def __init__(self, variant_id: str, wants: Callable[[Dispatched], bool]) -> None:
        self.variant_id = variant_id
        self.events: list[Dispatched] = []
        self._wants = wants

    @property
    def redacted(self) -> int:
        """Count the events that hold a secret."""
        learn_secrets()
        return sum(map(_is_sensitive, self.events))

    @property
    def openings(self) -> int:
        """Count the live objects that took something."""
        return len({event.opening for event in self.events})

    def start(self) -> "Recording":
        """Begin to listen; what was recorded before stays."""
        LISTENERS[self] = self._add
        return self

    def stop(self) -> None:
        """Listen no more. Stopping twice does nothing."""
        LISTENERS.pop(self, None)

    __enter__ = start

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def to_source(self, new_id: str, *, extends: str | None = None, doc: str = "") -> str:
        """Write the cell that registers a variant which dispatches the same again.

        It extends the variant that is named, else the recorded one where that fits. With
        `extends=""` it stands by itself, with all args of the live object, and without the events,
        loaders and decorators of the recorded variant. Redacted events are refused when it runs;
        what has no text stands as a name to be filled in. AuthoringError where what is named
        cannot be extended.
        """
        writer = Writer()
        base = self.base_of(new_id, extends)
        lines = list(self._lines(writer))
        parts = [quoted(new_id)]
        parts += [f"extends={quoted(base)}"] if base else []
        parts += [f"doc={quoted(doc)}"] if doc else []
        if args := self._args(new_id, base):
            parts.append(f"args={writer.value(args, 'args')}")
        parts.append(f"play={list_text(lines, depth=1)}")
        used = [name for name in ("check", "step") if any(f"{name}." in line for line in lines)]
        imports = [*sorted(writer.imports, reverse=True), "import repl_pair"]
        imports += [f"from repl_pair import {', '.join(used)}"] if used else []
        return "\n".join(imports) + "\n\n" + call_text("repl_pair.variant", parts) + "\n"

    def to_body(self, new_id: str, *, extends: str | None = None, doc: str = "") -> Body:
        """Return the same as the JSON data that a variant is registered from."""
        writer = Writer()
        base = self.base_of(new_id, extends)
        list(self._lines(writer))
        args = self._args(new_id, base)
        writer.value(args, "args")
        slots: dict[str, Any] = {"play": [line for e in self.events for line in _steps(e)]}
        slots |= {"extends": base} if base else {}
        slots |= {"doc": doc} if doc else {}
        slots |= {"args": to_json_data(args)} if args else {}
        return Body(slots=slots, odd=tuple(writer.odd))

    def base_of(self, new_id: str, extends: str | None = None) -> str:
        """Get what a new variant extends: what is named, else the recorded one; nothing for none.

        The recorded one does not fit itself, another component, or where it is gone.
        AuthoringError where what is named does not.
        """
        if extends is not None:
            return str(check_parent(new_id, extends)[-1].id) if extends else ""
        return self.variant_id if _may_extend(new_id, self.variant_id) else ""

    def _add(self, event: Dispatched) -> None:
        if self._wants(event):
            self.events.append(event)

    def _lines(self, writer: Writer) -> Iterator[str]:
        learn_secrets()
        for event in self.events:
            yield _line(event, writer)
            if event.raised:
                yield f"check.raises({quoted(event.raised)})"

    def _args(self, new_id: str, base: str) -> dict[str, Any]:
        """Return the args that the first live object had, and a new variant would not have."""
        if not self.events:
            return {}
        own = self.events[0].plan.all_args
        is_near = bool(base) and story_of(base) == story_of(new_id)
        inherited = plan_variant(base, plays=()).all_args if is_near else {}
        hashes = {name: content_hash({"value": value}) for name, value in inherited.items()}
        return {n: v for n, v in own.items() if content_hash({"value": v}) != hashes.get(n)}


def record(of: Live | str) -> Recording:
    """Record what is dispatched to one live object, or to all of a variant's, from `start` on.

    `with record(live) as recording: …`, then `recording.to_source("story.id/New")`.
    """
    if isinstance(of, Live):
        opening = opening_id(of)
        return Recording(of.variant_id, lambda event: event.opening == opening)
    id = REGISTRY.get("variant", of).id
    return Recording(id, lambda event: event.plan.variant_id == id)


def _may_extend(new_id: str, id: str) -> bool:
    try:
        check_parent(new_id, id)
    except AuthoringError:
        return False
    own, other = (REGISTRY.find("story", story_of(one)) for one in (id, new_id))
    return own is None or other is None or own.body.component == other.body.component


def _line(event: Dispatched, writer: Writer) -> str:
    if _is_sensitive(event):
        return f"step.dispatch({quoted(REDACTED)})"
    if not are_keywords(event.payload, taken=("event",)):
        payload = writer.value(dict(event.payload), event.name)
        return f'["dispatch", [{quoted(event.name)}, {payload}]]'
    given = [writer.keywords({k: v}, event.name) for k, v in event.payload.items()]
    return call_text("step.dispatch", [quoted(event.name), *given], depth=2)


def _steps(event: Dispatched) -> list[list[Any]]:
    if _is_sensitive(event):
        return [["dispatch", [REDACTED, {}]]]
    payload = {k: None if type(v) is NotData else to_json_data(v) for k, v in event.payload.items()}
    raised = [["raises", event.raised]] if event.raised else []
    return [["dispatch", [event.name, payload]], *raised]


def _is_sensitive(event: Dispatched) -> bool:
    return event.is_typed_secret or holds_secret(to_plain(dict(event.payload)))
