"""Removes secrets by pattern from every frame to the agent and every line of stderr."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Any, Protocol, TypeAlias, cast

from anyio.abc import AsyncResource
from mcp import types
from mcp.shared.message import SessionMessage

from repl_pair.mcp_server.gate.patterns import find_secrets, names_secret
from repl_pair.wire import REDACTED

Json: TypeAlias = Any
"""Plain JSON as Python values, of any shape."""

WITHHELD = "This message could not be checked for secrets and was withheld. Ask for less of it."
PROTOCOL_SLOTS = frozenset({"progressToken", "requestId", "io.modelcontextprotocol/subscriptionId"})
"""Slots of a frame's `params`, and of `_meta`, whose values the client chose."""
BINARY = frozenset({"image", "audio"})
_NESTED = {"_meta": dict, "content": list}
"""Slots of a part that hold others which are kept."""
PASSES = 4
MIN_NUMBER = 100_000
"""The least number that is a secret under the name of one."""

_log = logging.getLogger(__name__)


def scrub_text(text: str) -> str:
    """Replace each secret in a text by the redaction marker; the rest stays."""
    rounds = list(_parts_by_round(text))
    if len(rounds) == PASSES:
        return REDACTED
    return _replace_secrets(rounds[-1]) if rounds else text


def find_rounds(text: str) -> list[list[int]]:
    """Return what `scrub_text` replaces, pass after pass, as ends of spans in characters."""
    rounds = list(_parts_by_round(text))
    ends = [list(accumulate(map(len, parts[:-1]))) for parts in rounds]
    return [*ends, [0, len(_replace_secrets(rounds[-1]))]] if len(rounds) == PASSES else ends


def _parts_by_round(text: str) -> Iterator[list[str]]:
    """Yield the parts of a text, every second one a secret, until it holds none any more."""
    for _ in range(PASSES):
        data = text.encode("utf-8", "replace")
        ends = [end for span in find_secrets(data) for end in span]
        if not ends:
            return
        parts = [data[at:end].decode() for at, end in pairwise((0, *ends, len(data)))]
        yield parts
        text = _replace_secrets(parts)


def _replace_secrets(parts: list[str]) -> str:
    return "".join(REDACTED if n % 2 else part for n, part in enumerate(parts))


def scrub(node: Json) -> Json:
    """Scrub all texts and keys of plain JSON; the same object when there is nothing to scrub.

    TypeError for what JSON cannot hold.
    """
    leaves, named = list[str](), list[str]()
    try:
        _gather(node, leaves, named)
        joined = "\0".join(leaves).encode()
    except TypeError:
        return scrub(json.loads(json.dumps(node)))
    except UnicodeEncodeError:
        readable = _rebuild(
            node, lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
        return scrub(readable)
    changed = {text: scrub_text(text) for text in _find_dirty(leaves, joined)}
    return _rebuild(node, lambda text: changed.get(text, text)) if changed or named else node


def _find_dirty(leaves: list[str], joined: bytes) -> Iterable[str]:
    if joined.count(0) >= len(leaves):
        return leaves
    dirty, at, index = set[str](), 0, 0
    for start, _ in find_secrets(joined):
        index += joined.count(0, at, start)
        at = start
        dirty.add(leaves[index])
    return dirty


def _gather(node: Json, leaves: list[str], named: list[str]) -> None:
    """Collect all texts and keys, and the keys of secrets that are not redacted yet."""
    kind: type[Any] = cast("Any", type(node))
    if kind is str:
        leaves.append(node)
    elif kind is dict:
        leaves.extend(node)
        for key, value in node.items():
            if type(value) is str:
                leaves.append(value)
                if value and value != REDACTED and names_secret(key):
                    named.append(key)
            elif type(value) is int:
                if abs(value) >= MIN_NUMBER and names_secret(key):
                    named.append(key)
            else:
                _gather(value, leaves, named)
    elif kind is list:
        for value in node:
            _gather(value, leaves, named)
    elif node is not None and kind not in (int, float, bool):
        raise TypeError(f"{kind.__name__} is not plain JSON")


def _rebuild(node: Json, change: Callable[[str], str]) -> Json:
    if isinstance(node, str):
        return change(node)
    if isinstance(node, list):
        return [_rebuild(value, change) for value in cast("list[Json]", node)]
    if not isinstance(node, dict):
        return node
    out: dict[str, Json] = {}
    for key, value in cast("dict[str, Json]", node).items():
        kind: type[Any] = cast("Any", type(value))
        is_filled = value if kind is str else kind is int and abs(value) >= MIN_NUMBER
        hidden = is_filled and names_secret(key)
        out[_free_key(change(key), out)] = REDACTED if hidden else _rebuild(value, change)
    return out


def _free_key(key: str, taken: dict[str, Json]) -> str:
    number, free = 2, key
    while free in taken:
        number, free = number + 1, f"{key} {number}"
    return free


def scrub_part(part: Json) -> Json:
    """Scrub a frame's `params` or `result`, except protocol slots and binary data.

    The same object when there is nothing to scrub.
    """
    if not isinstance(part, dict):
        return scrub(part)
    slots = cast("dict[str, Json]", part)
    nested = {name for name, kind in _NESTED.items() if isinstance(slots.get(name), kind)}
    split = [_split(slots, PROTOCOL_SLOTS | nested)]
    split += [_split(slots["_meta"], PROTOCOL_SLOTS)] if "_meta" in nested else []
    split += [_split_block(block) for block in slots["content"]] if "content" in nested else []
    opened = [each for each, _ in split]
    clean = scrub(opened)
    if clean is opened:
        return slots
    rest, *parts = [
        each | kept if kept else each for each, (_, kept) in zip(clean, split, strict=True)
    ]
    if "_meta" in nested:
        rest["_meta"], *parts = parts
    return rest | ({"content": parts} if "content" in nested else {})


def _split_block(block: Json) -> tuple[Json, dict[str, Json]]:
    is_binary = isinstance(block, dict) and cast("dict[str, Json]", block).get("type") in BINARY
    return _split(block, frozenset({"data"} if is_binary else ()))


def _split(node: Json, kept: frozenset[str]) -> tuple[Json, dict[str, Json]]:
    """Return what of a node is scrubbed, and the slots that are kept as they are."""
    if not isinstance(node, dict):
        return node, {}
    slots = cast("dict[str, Json]", node)
    opened = {name: value for name, value in slots.items() if name not in kept}
    return opened, {name: slots[name] for name in slots.keys() & kept}


def scrub_frame(frame: types.JSONRPCMessage) -> types.JSONRPCMessage | None:
    """Return the scrubbed frame, or a fixed error of the same id where scrubbing fails.

    None for a notification that cannot be scrubbed.
    """
    try:
        match frame:
            case types.JSONRPCResponse():
                return frame.model_copy(update={"result": scrub_part(frame.result)})
            case types.JSONRPCError():
                data = scrub(frame.error.model_dump(mode="json", exclude_unset=True))
                return frame.model_copy(update={"error": types.ErrorData.model_validate(data)})
            case types.JSONRPCRequest() | types.JSONRPCNotification():
                if frame.params is None:
                    return frame
                return frame.model_copy(update={"params": scrub_part(frame.params)})
    except Exception as error:  # noqa: BLE001  whatever fails here, the frame must not be sent
        _log.error("a frame was withheld: %s while scrubbing", type(error).__name__)
        if isinstance(frame, types.JSONRPCResponse | types.JSONRPCError):
            withheld = types.ErrorData(code=types.INTERNAL_ERROR, message=WITHHELD)
            return types.JSONRPCError(jsonrpc="2.0", id=frame.id, error=withheld)
        return None


def scrub_message(message: Json) -> Json:
    """Scrub a frame as plain JSON, as `scrub_frame`; None for what has to be left out."""
    try:
        if not isinstance(message, dict):
            return scrub(message)
        slots = cast("dict[str, Json]", message)
        return slots | {slot: fn(slots[slot]) for slot, fn in _PARTS.items() if slot in slots}
    except Exception as error:  # noqa: BLE001  as in scrub_frame
        _log.error("a frame was withheld: %s while scrubbing", type(error).__name__)
        slots = cast("dict[str, Json]", message) if isinstance(message, dict) else {}
        if "method" in slots:
            return None
        withheld = {"code": types.INTERNAL_ERROR, "message": WITHHELD}
        return {"jsonrpc": "2.0", "id": slots.get("id"), "error": withheld}


_PARTS: dict[str, Callable[[Json], Json]] = {
    "params": scrub_part,
    "result": scrub_part,
    "error": scrub,
}


class _FrameSink(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None: ...


class GatedSink(AsyncResource):
    """A write stream that scrubs each frame."""

    def __init__(self, inner: _FrameSink) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        """Scrub one frame and write it."""
        frame = scrub_frame(item.message)
        if frame is not None:
            await self._inner.send(SessionMessage(frame, item.metadata))

    async def aclose(self) -> None:
        """End the stream."""
        await self._inner.aclose()
