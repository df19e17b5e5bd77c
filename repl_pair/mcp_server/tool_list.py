"""Makes tools from descriptors and policy: what is listed and what may be called."""

import re
from collections.abc import Iterable
from typing import Any, cast

from mcp.types import Tool, ToolAnnotations

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Descriptor, Policy
from repl_pair.wire import NULLABLE

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
DOC_CHARS = 1000
KERNEL = {
    "type": "string",
    "description": "If several are alive",
}
_INVISIBLE = re.compile(
    "\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def list_tools(descriptors: Iterable[Descriptor], policy: Policy) -> list[Tool]:
    """Return the tools of a list, sorted by name."""
    listed = (d for d in callable_ops(descriptors, policy).values() if policy.lists(d))
    return sorted((make_tool(d, policy) for d in listed), key=lambda tool: tool.name)


def callable_ops(descriptors: Iterable[Descriptor], policy: Policy) -> dict[str, Descriptor]:
    """Return the ops that a caller may call, listed or not, by name."""
    permitted = policy.permitted(descriptors)
    return {d["name"]: d for d in permitted if NAME.fullmatch(d["name"])}


def unlisted_ops(descriptors: Iterable[Descriptor], policy: Policy) -> dict[str, str]:
    """Return the ops that are no tools and that read_op or run_op may call, with their access."""
    found = (d for d in descriptors if not policy.lists(d) and policy.is_for_run_op(d))
    return {d["name"]: d["access"] for d in found}


def make_tool(descriptor: Descriptor, policy: Policy) -> Tool:
    """Build the tool that stands for one op; its doc has no invisible characters, and a bound."""
    return Tool(
        name=descriptor["name"],
        description=clean_text(descriptor.get("doc", ""), DOC_CHARS),
        input_schema=input_schema(descriptor, policy),
        annotations=annotate(descriptor),
    )


def clean_text(text: str, longest: int) -> str:
    """Return a text without invisible characters, of at most so many."""
    clean = _INVISIBLE.sub("", text).strip()
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def input_schema(descriptor: Descriptor, policy: Policy) -> dict[str, Any]:
    """Return the schema of what the caller may pass: the visible parameters, and `kernel`.

    Keywords of repl_pair are left out: strict clients refuse a schema with unknown ones.
    """
    visible = policy.visible_parameters(descriptor)
    shown: dict[str, Any] = {
        name: clean_schema(part) for name, part in visible.get("properties", {}).items()
    }
    if manifest.takes_kernel(descriptor["name"]) and "kernel" not in shown:
        shown["kernel"] = KERNEL
    schema: dict[str, Any] = {"type": "object", "properties": shown}
    required = [name for name in visible.get("required", ()) if name in shown]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def clean_schema(part: Any) -> Any:
    """Return a schema in keywords that every client knows, and without invisible characters.

    A type beside which null may stand is a list of both; values in a schema stay as they are.
    """
    if isinstance(part, list):
        return [clean_schema(item) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    cleaned: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", part).items():
        if key == "properties":
            cleaned[key] = {name: clean_schema(inner) for name, inner in value.items()}
        elif key == "description":
            cleaned[key] = clean_text(value, DOC_CHARS)
        elif key in ("default", "enum", "examples"):
            cleaned[key] = value
        elif not key.startswith("x-") and key != "partial":
            cleaned[key] = clean_schema(value)
    if NULLABLE in part:
        cleaned |= {"type": [cleaned["type"], "null"]} if "type" in cleaned else {}
        cleaned |= {"enum": [*cleaned["enum"], None]} if "enum" in cleaned else {}
    return cleaned


def annotate(descriptor: Descriptor) -> ToolAnnotations:
    """Return what an op may do at worst; an op that runs the person's code may do anything."""
    access = descriptor.get("access")
    return annotations(reads=access in ("read", "inspect"), open_world=access in ("run", "eval"))


def annotations(*, reads: bool, open_world: bool) -> ToolAnnotations:
    """Return the hints of a tool; what a read destroys or repeats is no question."""
    if reads:
        return ToolAnnotations(read_only_hint=True, open_world_hint=open_world)
    return ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=open_world)
