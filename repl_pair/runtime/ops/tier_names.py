"""Names of entries that a view may not see, in what it may: they read as `hidden`.

What is not registered reads so too, or a guessed id could be told from one that is.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids

HIDDEN = "hidden"


def shown_name(call: Call, word: str, kinds: Iterable[str] = ()) -> str:
    """Return an id, or `hidden` where every entry of that id, of these kinds, is out of view.

    Where kinds are said, an id of no entry is `hidden` too.
    """
    if call.view.tier is None:
        return word
    found = [entry for kind in kinds or KINDS if (entry := REGISTRY.find(kind, word)) is not None]
    theirs = [entry for entry in found if entry.origin.key != "builtin"]
    seen = any(word in visible_ids(call.view, entry.kind, word) for entry in theirs)
    return word if seen or (found and not theirs) or not (found or kinds) else HIDDEN


def shown_words(call: Call, text: str) -> str:
    """Return a sentence with the ids in it as `shown_name` gives them."""
    if call.view.tier is None:
        return text
    return re.sub(_ID, lambda found: shown_name(call, found[0]), text)


def shown_text(call: Call, text: str, asked: Collection[str] = (), own: str = "") -> str:
    """Return an error or reason without ids out of view, and without those that would be near.

    Ids are known by what stands before them. That there is none of an id that was `asked` for may
    be said; `own` is the id that a caller registers.
    """
    if call.view.tier is None:
        return text
    echoed = re.match(_ECHO, text)
    if echoed and echoed["id"] in asked:
        return text
    named = re.sub(_NAMED, lambda found: _shown_named(call, found, own), text)
    linked = re.sub(_LINKED, lambda found: _shown_link(call, found[0], own), named)
    return re.sub(_NEAR, lambda found: _shown_near(call, found), linked)


def shown_answer(call: Call, answer: Any, asked: Collection[str]) -> Any:
    """Return the JSON of an answer with its reasons and errors as `shown_text` gives them."""
    if call.view.tier is None:
        return answer
    if isinstance(answer, list):
        return [shown_answer(call, part, asked) for part in cast("list[Any]", answer)]
    if not isinstance(answer, dict):
        return answer
    return {
        slot: _shown_slot(call, slot, value, asked)
        for slot, value in cast("dict[str, Any]", answer).items()
    }


def words_of(args: Any) -> set[str]:
    """Return every text in the arguments of a call."""
    if isinstance(args, Mapping):
        args = list(cast("Mapping[str, Any]", args).values())
    if isinstance(args, list):
        return set[str]().union(*map(words_of, cast("list[Any]", args)))
    return {args} if isinstance(args, str) else set()


def _shown_slot(call: Call, slot: str, value: Any, asked: Collection[str]) -> Any:
    if slot in _OF_PERSONS:
        return value
    if isinstance(value, str):
        kind = (slot,) if slot in _TIERED else ()
        return shown_name(call, value, kind) if kind else shown_text(call, value, asked)
    if slot == "registered_again":
        return [shown_words(call, word) for word in value]
    if slot in _TEXTS and isinstance(value, list):
        return [shown_text(call, text, asked) for text in cast("list[str]", value)]
    return shown_answer(call, value, asked)


def _shown_named(call: Call, found: re.Match[str], own: str) -> str:
    word = found["word"].casefold()
    id = found["id"]
    id = id if id == own else _shown_id(call, _KIND_OF.get(word, word), id)
    return f"{found['word']} {found['quote']}{id}{found['quote']}"


def _shown_id(call: Call, kind: str, id: str) -> str:
    """Return an id as `shown_name` does; a story is known by its variants in view."""
    known = kind == "story" and visible_ids(call.view, "variant", f"{id}/")
    return id if known else shown_name(call, id, (kind,))


def _shown_link(call: Call, id: str, own: str) -> str:
    return id if id in ("…", own) else shown_name(call, id, ("variant",))


def _shown_near(call: Call, found: re.Match[str]) -> str:
    kind, ids = found["kind"], found["near"].split(", ")
    if kind not in _TIERED:
        return found[0]
    seen = [id for id in ids if shown_name(call, id, (kind,)) != HIDDEN]
    return found["head"] + (f" Nearest: {', '.join(seen)}." if seen else "")


def shown_slots(call: Call, slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of a body, as data, with the ids in them as `shown_name` gives them."""
    if call.view.tier is None:
        return dict(slots)
    return {
        slot: _renamed(call, value, _KINDS_OF[slot]) if slot in _KINDS_OF else value
        for slot, value in slots.items()
    }


def _renamed(call: Call, value: Any, kinds: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        word = value.removeprefix("!")
        return value.removesuffix(word) + shown_name(call, word, kinds)
    if isinstance(value, Mapping):  # a block of a workspace
        block = cast("Mapping[str, Any]", value)
        return {name: _renamed(call, item, ()) for name, item in block.items()}
    if not isinstance(value, (list, tuple)):
        return value
    parts = list(cast("list[Any]", value))
    if kinds == ("use",):
        return [_renamed_use(call, use) for use in parts]
    return [_renamed(call, part, kinds) for part in parts]


def _renamed_use(call: Call, use: Any) -> Any:
    """Rename a decorator where it is used: its args are no names."""
    if isinstance(use, (list, tuple)) and use:
        id, *args = cast("list[Any]", use)
        return [_renamed(call, id, ("decorator",)), *args]
    return _renamed(call, use, ("decorator",))


_TIERED = ("story", "variant", "workspace", "mode", "decorator", "tag", "panel")
"""The kinds whose entries have a tier."""
_KIND_OF = {"extends": "variant"}
_WORDS = "|".join((*_TIERED, *_KIND_OF))
_NAMED = rf"\b(?P<word>(?i:{_WORDS})) (?P<quote>['\"])(?P<id>[^'\"\s]+)(?P=quote)"
_LINKED = r"[^\s'\"]+(?= -> )|(?<= -> )[^\s'\"]+?(?=\.?(?:\s|$))"
_NEAR = (
    r"(?P<head>no (?P<kind>\w+) ['\"][^'\"]*['\"]\.)"
    r" Nearest: (?P<near>(?:[^\s,]+, )*[^\s,]+)\.(?=\s|$)"
)
_ECHO = r"There is no \w+ '(?P<id>[^']*)'\.(?: Nothing was run\.)?$"
_OF_PERSONS = frozenset(
    {"result", "last", "state", "stdout", "stderr", "outputs", "effects", "events", "args"}
    | {"effective_args", "value", "default", "body", "text", "logs", "warnings"}
)
"""The slots of answers that hold the person's values, in which nothing is renamed."""
_TEXTS = frozenset({"conflicts", "reasons"})
_ID = r"[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9_-]|[A-Za-z]"
_KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "extends": ("variant",),
    "variants": ("variant",),
    "story": ("story",),
    "tags": ("tag",),
    "modes": ("mode",),
    "decorators": ("use",),
    "content": (),
}
