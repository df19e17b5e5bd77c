"""Names of entries that a view may not see, in what it may: they read as `hidden`.

What is not registered reads so too, or a guessed id could be distinguished from one that is.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.registry.model import KINDS, PUBLISHED
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.values.classes import real_class

HIDDEN = "hidden"

_TIERED = tuple(kind for kind, row in KINDS.items() if row.has_tier)
_WORDS = "|".join((*_TIERED, "extends"))
_NAMED = rf"\b(?P<word>(?i:{_WORDS})) (?P<quote>['\"])(?P<id>[^'\"\s]+)(?P=quote)"
_LINKED = r"[^\s'\"]+(?= -> )|(?<= -> )[^\s'\"]+?(?=\.?(?:\s|$))"
_NEAR = (
    r"(?P<head>no (?P<kind>\w+) ['\"][^'\"]*['\"]\.)"
    r" Nearest: (?P<near>(?:[^\s,]+, )*[^\s,]+)\.(?=\s|$)"
)
_ECHO = r"There is no \w+ '(?P<id>[^']*)'\.(?: Nothing was run\.)?$"
_ID = r"[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9_-]|[A-Za-z]"
_OF_PERSONS = frozenset(
    {"result", "last", "state", "stdout", "stderr", "outputs", "effects", "events", "args"}
    | {"effective_args", "value", "default", "body", "text", "logs", "warnings"}
    | {"expected", "actual", "payload", "response", "responses", "line", "entries"}
)
"""The slots of answers that hold the person's values, in which nothing is renamed."""
_TEXTS = frozenset({"conflicts", "reasons"})
_KIND_OF = {word: kind for kind in _TIERED for word in (kind, f"{kind}s")} | {
    **dict.fromkeys(("extends", "chain", "content"), "variant"),
    **{"removed_tags": "tag", "declared_modes": "mode"},
}
"""The kind of the ids in a slot, or behind a word."""


def shown_name(call: Call, word: str, kind: str = "") -> str:
    """Return an id, or `hidden` where every entry of that id, of this kind or any, is out of view.

    Where a kind is given, an id of no entry is `hidden` too.
    """
    if call.view.tier is None:
        return word
    kinds = [kind] if kind else [each for each in KINDS if each not in PUBLISHED]
    found = [entry for each in kinds if (entry := REGISTRY.find(each, word)) is not None]
    tiered = [entry for entry in found if entry.origin.key != BUILTIN]
    seen = any(word in visible_ids(call.view, entry.kind, word) for entry in tiered)
    return word if seen or (found and not tiered) or not (found or kind) else HIDDEN


def shown_words(call: Call, text: str) -> str:
    """Return a sentence with the ids in it as `shown_name` gives them."""
    if call.view.tier is None:
        return text
    return re.sub(_ID, lambda found: shown_name(call, found[0]), text)


def shown_text(call: Call, text: str, asked: Collection[str] = (), own: str = "") -> str:
    """Return an error or reason without ids out of view, and without those that would be near.

    Ids are known by what stands before them. An id that was `asked` for may be reported as
    missing; `own` is the id that a caller registers.
    """
    if call.view.tier is None:
        return text
    echoed = re.match(_ECHO, text)
    if echoed and echoed["id"] in asked:
        return text

    def named(found: re.Match[str]) -> str:
        word, quote, id = found["word"], found["quote"], found["id"]
        kind = _KIND_OF[word.casefold()]
        # A story is known by its variants in view.
        known = id == own or (kind == "story" and visible_ids(call.view, "variant", f"{id}/"))
        return f"{word} {quote}{id if known else shown_name(call, id, kind)}{quote}"

    def linked(found: re.Match[str]) -> str:
        id = found[0]
        return id if id in ("…", own) else shown_name(call, id, "variant")

    def near(found: re.Match[str]) -> str:
        kind, ids = found["kind"], found["near"].split(", ")
        if kind not in _TIERED:
            return found[0]
        seen = [id for id in ids if shown_name(call, id, kind) != HIDDEN]
        return found["head"] + (f" Nearest: {', '.join(seen)}." if seen else "")

    for pattern, shown in ((_NAMED, named), (_LINKED, linked), (_NEAR, near)):
        text = re.sub(pattern, shown, text)
    return text


def _shown_entry(call: Call, entry: str) -> str:
    kind, _, id = entry.partition(" ")
    return f"{kind} {shown_name(call, id, kind)}" if kind in _TIERED else entry


def shown_answer(call: Call, answer: Any, asked: Collection[str], slot: str | None = None) -> Any:
    """Return an answer with its reasons and errors as `shown_text` gives them.

    Live objects in it stay as they are.
    """
    if call.view.tier is None or slot in _OF_PERSONS:
        return answer
    if real_class(answer) is dict:
        slots = cast("dict[str, Any]", answer)
        return {name: shown_answer(call, value, asked, name) for name, value in slots.items()}
    if real_class(answer) is list:
        parts = cast("list[Any]", answer)
        if slot == "registered_again":
            return [_shown_entry(call, entry) for entry in parts]
        if slot == "active_modes":
            return [shown_name(call, mode, "mode") for mode in parts]
        of_parts = slot if slot in _TEXTS else None
        return [shown_answer(call, part, asked, of_parts) for part in parts]
    if slot is None or real_class(answer) is not str:
        return answer
    return shown_name(call, answer, slot) if slot in _TIERED else shown_text(call, answer, asked)


def words_of(args: Any) -> set[str]:
    """Return every text in the arguments of a call."""
    if isinstance(args, Mapping):
        args = list(cast("Mapping[str, Any]", args).values())
    if isinstance(args, list):
        return set[str]().union(*map(words_of, cast("list[Any]", args)))
    return {args} if isinstance(args, str) else set()


def shown_slots(call: Call, slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of a body, as data, with the ids in them as `shown_name` gives them."""
    if call.view.tier is None:
        return dict(slots)
    return {
        slot: _renamed(call, value, _KIND_OF[slot]) if slot in _KIND_OF else value
        for slot, value in slots.items()
    }


def shown_rows(call: Call, slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of an explanation, which hold ids or rows, as `shown_slots` does."""
    if call.view.tier is None:
        return dict(slots)
    return {slot: _renamed(call, value, _KIND_OF.get(slot, "")) for slot, value in slots.items()}


def _renamed(call: Call, value: Any, kind: str, *, is_use: bool = False) -> Any:
    """Rename the ids in a slot; of a decorator where it is used, only the head is a name."""
    if isinstance(value, str):
        word = value.removeprefix("!")
        if not kind:
            return shown_text(call, value)
        return value.removesuffix(word) + shown_name(call, word, kind)
    if isinstance(value, Mapping):  # a block of a workspace, or a row of an explanation
        line = dict(cast("Mapping[str, Any]", value))
        for slot in line.keys() & {"id", "variant", "covers"}:
            line[slot] = _renamed(call, line[slot], kind)
        for slot in line.keys() & {"source", "removed_by"}:
            line[slot] = shown_words(call, line[slot])
        return line
    if not isinstance(value, (list, tuple)):
        return value
    parts = list(cast("list[Any]", value))
    count = 1 if is_use else len(parts)
    renamed = [_renamed(call, part, kind, is_use=True) for part in parts[:count]]
    return [*renamed, *parts[count:]]
