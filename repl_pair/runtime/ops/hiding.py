"""Names of entries that a view may not see, in what it may: they read as `hidden`."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from repl_pair.runtime.model import KINDS
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.visible import visible_ids
from repl_pair.runtime.registry import REGISTRY

HIDDEN = "hidden"


def shown_name(call: Call, word: str, kinds: Iterable[str] = ()) -> str:
    """Give an id, or `hidden` where every entry of that id, of these kinds, is out of view."""
    if call.view.tier is None:
        return word
    found = [entry for kind in kinds or KINDS if (entry := REGISTRY.find(kind, word)) is not None]
    theirs = [entry for entry in found if entry.origin.key != "builtin"]
    seen = any(word in visible_ids(call, entry.kind, word) for entry in theirs)
    return HIDDEN if theirs and not seen else word


def shown_words(call: Call, text: str) -> str:
    """Give a sentence with the ids in it as `shown_name` gives them."""
    if call.view.tier is None:
        return text
    return re.sub(_ID, lambda found: shown_name(call, found[0]), text)


def shown_slots(call: Call, slots: Mapping[str, Any]) -> dict[str, Any]:
    """Give the slots of a body, as data, with the ids in them as `shown_name` gives them."""
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
