"""Makes tool results from replies: structured and as text, images separate, within the budget."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mcp.types import CallToolResult, ContentBlock, ImageContent, TextContent

from repl_pair.bridge.suggestions import through_op, write_step
from repl_pair.errors import NextStep, next_step
from repl_pair.mcp_server.gate.byte_gate import Json, scrub
from repl_pair.wire import LONG_REPLY_CHARS, OVERFLOW, READ_ON, REDACTED, REPLY_CHARS, Args, Reply

Schema: TypeAlias = Mapping[str, Any]

CHARS_PER_TOKEN = 4
LIMIT_TOKENS, HARD_LIMIT_TOKENS = (n // CHARS_PER_TOKEN for n in (REPLY_CHARS, LONG_REPLY_CHARS))
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
IMAGE_BYTES = 1_000_000
IMAGES = 4
KEPT_CHARS = 200
ERROR_CHARS = 4_000


def render(
    reply: Reply, *, name: str, args: Args, schema: Schema, unlisted: Mapping[str, str] = {}
) -> CallToolResult:
    """Return the tool result for the reply to `name(**args)` of an op with that schema.

    A result over its budget is replaced by `{"$overflow": …}` with the exact next call, never cut.
    The text is written from what the byte gate leaves of the structured content: escaped in JSON,
    a secret may have a form that no pattern finds. A next step of an op that `unlisted`
    gives the access of goes through read_op or run_op.
    """
    if "redacted" in reply:  # how much it was would confirm guesses
        reply = reply | {"redacted": True}
    reply = _with_steps(reply, [through_op(step, unlisted) for step in _steps_of(reply)])
    if not reply["ok"]:
        return _render_error(reply)
    images: list[ImageContent] = []
    result: Json = reply["result"]
    if isinstance(result, dict) and "outputs" in result:
        slots = cast("dict[str, Json]", result)
        result = slots | {"outputs": _without_images(slots["outputs"], images)}
    envelope: Reply = reply | {"result": result}
    limit = HARD_LIMIT_TOKENS if "limit" in args else LIMIT_TOKENS
    text = write(envelope)
    tokens = _count_tokens(text)
    if tokens > limit:
        marker: dict[str, Any] = {"limit_tokens": limit, "tokens": tokens}
        kept = _small_slots(result)
        envelope |= {"result": {OVERFLOW: marker | ({"kept": kept} if kept else {})}}
        smaller = _suggest_smaller(result, tokens / limit, name, args, schema)
        if smaller is not None:
            # Nor is the next page suggested of what is not shown.
            others = [s for s in _steps_of(envelope) if name not in (s["op"], s["args"].get("op"))]
            envelope = _with_steps(envelope, [through_op(smaller, unlisted), *others][:3])
        elif not _steps_of(envelope):
            envelope |= {
                "hints": [*envelope.get("hints", ()), _describe_narrower(name, args, schema)]
            }
        text = write(envelope)
    clean = scrub(envelope)
    if clean is not envelope:
        clean = _drop_redacted_steps(clean)
    content: list[ContentBlock] = [
        TextContent(type="text", text=text if clean is envelope else write(clean)),
        *images,
    ]
    return CallToolResult(content=content, structured_content=clean)


def write(node: Json) -> str:
    """Write compact JSON; only what must be escaped is."""
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def _count_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def refuse(text: str) -> CallToolResult:
    """Return a refusal that comes from no op; it has a text only."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _render_error(reply: Reply) -> CallToolResult:
    reply = _drop_redacted_steps(scrub(reply))
    error: dict[str, Any] = dict(reply["error"])
    if len(error["message"]) > ERROR_CHARS:
        cut = len(error["message"]) - ERROR_CHARS
        error["message"] = f"{error['message'][:ERROR_CHARS]}… ({cut} characters more)"
    tokens = _count_tokens(write(error.get("detail")))
    if tokens > LIMIT_TOKENS // 2:
        error["detail"] = {OVERFLOW: {"limit_tokens": LIMIT_TOKENS // 2, "tokens": tokens}}
    envelope: Reply = reply | {"error": error}
    # Some clients show only the text: it has all that the caller needs to correct the call.
    rest = {key: envelope[key] for key in ("kernel", "notifications", "notices") if key in envelope}
    lines = [f"{error['code']}: {error['message']}"]
    lines += [f"Next: {write_step(step)}" for step in _steps_of(envelope)]
    lines += envelope.get("hints", ())
    lines += [f"Detail: {write(error['detail'])}"] if error.get("detail") else []
    lines += [write(rest)] if rest else []
    text = TextContent(type="text", text="\n".join(lines))
    return CallToolResult(content=[text], structured_content=envelope, is_error=True)


def _without_images(node: Json, images: list[ImageContent]) -> Json:
    if isinstance(node, list):
        return [_without_images(item, images) for item in cast("list[Json]", node)]
    if not isinstance(node, dict):
        return node
    return {
        key: _move_image(key, value, images)
        if key in IMAGE_TYPES and isinstance(value, str)
        else _without_images(value, images)
        for key, value in cast("dict[str, Json]", node).items()
    }


def _move_image(mime: str, text: str, images: list[ImageContent]) -> dict[str, Any]:
    """Move an image to `images`; return its marker: its number there, or why it is left out."""
    data = "".join(text.split())
    size = len(data) * 3 // 4
    if size > IMAGE_BYTES:
        return {"$image": None, "why": f"{size} bytes, over the limit of {IMAGE_BYTES}"}
    if len(images) >= IMAGES:
        return {"$image": None, "why": f"over the limit of {IMAGES} images"}
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return {"$image": None, "why": "not base64"}
    images.append(ImageContent(type="image", data=data, mime_type=mime))
    return {"$image": len(images)}


def _small_slots(result: Json) -> dict[str, Any]:
    """Return the small slots of a result: verdicts, counts, ids; the next page would skip this."""
    if not isinstance(result, dict):
        return {}
    return {
        key: value
        for key, value in cast("dict[str, Json]", result).items()
        if key not in READ_ON
        and (
            isinstance(value, bool | int | float)
            or (isinstance(value, str) and len(value) <= KEPT_CHARS)
        )
    }


def _steps_of(reply: Reply) -> list[NextStep]:
    return reply.get("next_steps", [])


def _with_steps(reply: Reply, steps: list[NextStep]) -> Reply:
    return reply | {"next_steps": steps} if steps else reply


def _drop_redacted_steps(reply: Reply) -> Reply:
    """Return a reply without the steps that lack a secret: they are other calls than are meant."""
    kept = [step for step in _steps_of(reply) if REDACTED not in write(step)]
    return _with_steps({slot: reply[slot] for slot in reply if slot != "next_steps"}, kept)


def _suggest_smaller(
    result: Json, excess: float, name: str, args: Args, schema: Schema
) -> NextStep | None:
    items = cast("dict[str, Json]", result).get("items") if isinstance(result, dict) else None
    count = len(cast("list[Json]", items)) if isinstance(items, list) else 0
    if "limit" in schema.get("properties", {}) and count:
        fitting = max(1, int(count / excess * 0.8))
        return next_step(name, **{**args, "limit": fitting})
    return None


def _describe_narrower(name: str, args: Args, schema: Schema) -> str:
    narrower = [key for key in schema.get("properties", {}) if key not in args and key != "kernel"]
    if narrower:
        return f"Ask for less: {name} also takes {', '.join(narrower)}."
    return "Ask for a part of it by its id."
