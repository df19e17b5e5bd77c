"""The last pass over what leaves: known secrets are replaced, and what was elided is kept."""

from collections.abc import Sequence
from typing import Any, cast

from repl_pair.runtime.reading.bounded import head_of
from repl_pair.runtime.reading.parts import KeyNames
from repl_pair.runtime.secrets.truncation import KEY_CHARS, MARKER_SLOTS, Limits, Shaper
from repl_pair.runtime.signatures.outline import parts_of
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.marks import has_url_password
from repl_pair.wire import ELIDED

_SHARE, _KEPT_DEPTH, _KEPT_NODE_CHARS = 2_000, 32, 8
"""Characters that are kept of each elided container, while there is room for any."""


def clean(shaper: Shaper, shaped: Any, shape: Any = Any) -> Any:
    """Replace every known secret in what `shaper.put` gave, and what is no valid text.

    The slots and words that a type `shape` names stay.
    """
    _keep_elided(shaper)
    whole = "\x1f".join(shaper.texts)  # white space, so that no URL spans two texts
    forms = shaper.needles.find(whole)
    if forms or has_url_password(whole) or _valid(whole) is not whole:
        shaped = _Cleaner(shaper, forms).clean(shaped, shape)
        _keep_elided(shaper)
    return shaped


def _keep_elided(shaper: Shaper) -> None:
    """Keep what was elided, an equal share of each container, and put the handles in."""
    left = 2 * shaper.limits.whole
    for at, (body, node) in enumerate(shaper.later):
        if left > 0 and shaper.keep:
            share = max(left // (len(shaper.later) - at), _SHARE)
            kept, used = _whole(shaper, node, min(shaper.limits.whole, share))
            body["handle"], left = shaper.keep(kept), left - used
        else:
            del body["handle"]
    shaper.later.clear()


def _whole(shaper: Shaper, node: Any, room: int) -> tuple[Any, int]:
    """Return what is kept of an elided value, of at most `room` characters, and how many."""
    if type(node) is str:
        return _valid(node), 0  # counted when it was elided
    wide = Limits(
        depth=_KEPT_DEPTH,
        width=room,
        text=max(room // 2, _SHARE),
        nodes=room // _KEPT_NODE_CHARS,
        whole=room,
    )
    inner, used, is_named = Shaper(shaper.copy, wide, shaper.needles, None), 0, type(node) is dict
    kept: list[tuple[Any, Any]] = []
    for slot in node if is_named else range(len(node)):
        before = len(inner.texts)
        kept.append((slot, inner.put(node[slot], 1)))
        inner.texts.append(str(slot))
        used += _KEPT_NODE_CHARS + sum(map(len, inner.texts[before:]))
        if used > room:
            kept.pop()
            break
    if inner.size_of(node) > len(kept):
        kept.append((ELIDED, inner.mark(node)[ELIDED]))
    listed = [{slot: item} if slot == ELIDED else item for slot, item in kept]
    return clean(inner, dict(kept) if is_named else listed), used


class _Cleaner:
    """Replaces in one value the forms of secrets that stand in some text of it."""

    def __init__(self, shaper: Shaper, forms: tuple[str, ...]) -> None:
        self.shaper, self.forms = shaper, forms
        self._clean_keys = set[str]()

    def clean(self, node: Any, shape: Any) -> Any:
        if type(node) is str:
            is_own = shape is not Any and node in parts_of(shape).words
            return node if is_own else self.shaper.fit_text(self._clean_text(node))
        if real_class(node) is not list and real_class(node) is not dict:
            return node
        slots, rest, _ = parts_of(shape)
        if real_class(node) is list:
            return [self.clean(item, rest) for item in node]
        names, cleaned = KeyNames(KEY_CHARS), dict[str, Any]()
        for key, item in node.items():
            clean_key = key
            if key not in self._clean_keys and key not in slots:
                clean_key = self._clean_text(key)
                if clean_key == key:
                    self._clean_keys.add(key)
            if key == ELIDED and self.shaper.is_marker(item):
                part = self._clean_marker(item)
            else:
                part = self.clean(item, slots.get(key, rest))
            cleaned[names.fit(clean_key)] = part
        return cleaned

    def _clean_marker(self, body: dict[str, Any]) -> dict[str, Any]:
        cleaned = dict(body)
        for slot in MARKER_SLOTS.keys() & body.keys() - {"size"}:
            longest = self.shaper.limits.text if slot == "head" else KEY_CHARS
            cleaned[slot] = head_of(self._clean_text(body[slot]), longest)
        return cleaned

    def _clean_text(self, text: str) -> str:
        forms = self.forms
        dirty = len(forms) > 8 or any(form in text for form in forms) or has_url_password(text)
        return _valid(self.shaper.scrub(text) if dirty else text)


def valid_json(data: Any) -> Any:
    """Return JSON data whose texts can be sent: half of a surrogate pair is replaced."""
    if isinstance(data, dict):
        parts = cast("dict[Any, Any]", data).items()
        return {valid_json(name): valid_json(part) for name, part in parts}
    if isinstance(data, (list, tuple)):
        return [valid_json(part) for part in cast("Sequence[Any]", data)]
    return _valid(data) if isinstance(data, str) else data


def _valid(text: str) -> str:
    try:
        if text.isascii() or text.encode():
            return text
    except UnicodeEncodeError:  # a surrogate that stands alone
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
