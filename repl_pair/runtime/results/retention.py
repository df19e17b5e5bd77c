"""What is kept of a run: no table and no long text of its args, and a bounded total."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from repl_pair.records import replace
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.classes import is_of, kind_of, lineage, real_class
from repl_pair.runtime.values.frozen import live_to_plain
from repl_pair.runtime.values.paths import Place, below

SHOWN = Limits(depth=6, width=100, text=4000, nodes=2000, whole=20_000)
"""How much is shown of a result, and of what is too large to be kept as it is."""
MAX_CHARS = 50_000_000
"""How many characters the kept runs show in all: the earliest ones are cut."""
GONE = "[no longer kept: later runs took its place; run it again]"

_HELD = ("effective_args", "assertions", "events", "effects")
_STREAMS = ("stdout", "stderr", "unattributed", "logs", "warnings")
_MAX_PARTS, _MAX_TEXT, _MAX_CELLS = 2000, 20_000, 8000
_MAX_HELD = 100_000
"""How many characters of texts a slot keeps as they are."""


def lighten(record: RunRecord) -> dict[str, Any]:
    """Return the slots of a record that hold something large, with bounded JSON in its place.

    The args of a variant stand in the registry: a copy of a table would stay for each run.
    """
    places, secrets = record.sensitive, record.secrets
    lighter: dict[str, Any] = {}
    for slot in _HELD:
        room = _Room(_MAX_HELD)
        if not (value := getattr(record, slot)) or _is_light(value, room):
            continue
        if is_of(value, dict):
            lighter[slot] = _lighter(value, below(places, slot), room, secrets)
        else:  # however many records there are, they stay records
            inner = [below(below(places, slot), at) for at in range(len(value))]
            one = partial(_lighter, room=room, secrets=secrets)
            lighter[slot] = tuple(map(one, value, inner))
    return lighter


class _Room:
    """How many characters may still be kept as they are."""

    def __init__(self, chars: int) -> None:
        self.chars = chars


def _lighter(
    value: Any, places: Sequence[Place], room: _Room, secrets: CallSecrets | None, depth: int = 0
) -> Any:
    if _is_light(value, room):
        return value

    def parts(found: Mapping[Any, Any]) -> dict[Any, Any]:
        rows = found.items()
        return {key: _lighter(v, below(places, key), room, secrets, depth + 1) for key, v in rows}

    kind: Any = real_class(value)
    if hasattr(kind, "__record__"):
        return replace(value, **parts(value.__dict__))
    inner: Any = _parts_of(value)
    is_opened = depth < SHOWN.depth  # a value may hold itself
    if is_opened and inner is not None and len(inner) <= SHOWN.width:
        if is_of(value, dict):
            return parts(dict[Any, Any](dict[Any, Any].items(value)))
        if is_of(value, list, tuple):
            rows: list[Any] = list(inner)
            items = parts(dict[Any, Any](enumerate(rows))).values()
            return tuple(items) if is_of(value, tuple) else list(items)
    return send_out(live_to_plain(value), sensitive=places, limits=SHOWN, secrets=secrets).value


def _is_light(value: Any, room: _Room) -> bool:
    """Return whether a value is kept as it is, and count its texts; objects are not taken apart."""
    waiting: list[Any] = [value]
    left, chars = _MAX_PARTS, room.chars
    while waiting and left > 0:
        node = waiting.pop()
        left -= 1
        if id(real_class(node)) in _SMALL:
            continue
        if (base := _base_of(node)) in _TEXTS:
            chars -= base.__len__(node)
            if base.__len__(node) > _MAX_TEXT or chars < 0:
                return False
        elif (parts := _parts_of(node)) is not None:
            left -= len(parts)
            waiting.extend(parts if left > 0 else ())
        elif kind_of(node) is not None and node.size > _MAX_CELLS:
            return False
    if left > 0:
        room.chars = chars
    return left > 0


def _parts_of(node: Any) -> Any:
    kind: Any = real_class(node)
    if hasattr(kind, "__record__"):
        return node.__dict__.values()
    base = _base_of(node)
    if base is None or base in _TEXTS:
        return None
    if base is dict:
        return dict[Any, Any].values(node)
    return node if kind is base else list(base.__iter__(node))


_SMALL = frozenset(map(id, (type(None), bool, int, float)))
_TEXTS = (str, bytes, bytearray)
_BASES: dict[int, Any] = {id(cls): cls for cls in (dict, list, tuple, set, frozenset, *_TEXTS)}


def _base_of(node: Any) -> Any:
    """Return which text or container it is: a subclass of the person's may have its own code."""
    kind = real_class(node)
    found = _BASES.get(id(kind))
    return found or next((_BASES[id(cls)] for cls in lineage(kind) if id(cls) in _BASES), None)


class Total:
    """Counts what the kept runs show, and has the earliest show less once it is too much."""

    def __init__(self, trim: Callable[[str], None]) -> None:
        self._trim = trim
        self._chars: dict[str, int] = {}
        self._all = 0
        self._lock = threading.Lock()

    def forget(self, id: str) -> None:
        """Count the run of a variant no more: it was removed."""
        with self._lock:
            self._all -= self._chars.pop(id, 0)

    def note(self, id: str, record: RunRecord) -> None:
        """Count the run that is kept of a variant now."""
        over: list[str] = []
        with self._lock:
            self._all += (size := _chars_of(record)) - self._chars.pop(id, 0)
            self._chars[id] = size
            while self._all > MAX_CHARS and len(self._chars) > 1:
                over.append(earliest := next(iter(self._chars)))
                self._all -= self._chars.pop(earliest)
        for earliest in over:
            self._trim(earliest)


def without_outputs(record: RunRecord) -> RunRecord:
    """Return a record that shows nothing any more."""
    empty = {slot: type(getattr(record, slot))() for slot in _STREAMS}
    return replace(record, **empty, outputs=({"text/plain": GONE},), shown=GONE, earlier=())


def _chars_of(record: RunRecord) -> int:
    runs = (record, *record.earlier)
    return sum(len(text) for run in runs for text in _texts(run) if isinstance(text, str))


def _texts(run: RunRecord) -> Iterator[Any]:
    yield from (run.stdout, run.stderr, run.unattributed, *run.logs, *run.warnings)
    for bundle in run.outputs:
        yield from bundle.values()
