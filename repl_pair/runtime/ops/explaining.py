"""Ops that say what a variant is made of, and give bodies as data; nothing of the person's runs."""

from collections.abc import Mapping
from typing import Any, cast

from repl_pair.runtime.ids import story_of
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.hiding import shown_name, shown_slots, shown_text, shown_words
from repl_pair.runtime.ops.kinds import WorkspaceId
from repl_pair.runtime.ops.overrides import refuse_secret_overrides
from repl_pair.runtime.ops.run_options import Modes, Overrides
from repl_pair.runtime.ops.shown import plays_of, secrets_of_entry, secrets_told
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.visible import VariantId, check_visible, visible_entry
from repl_pair.runtime.paths import parse_path
from repl_pair.runtime.plain import to_plain
from repl_pair.runtime.registry import REGISTRY

WHOLE_ROOM, WHOLE_DEPTH = 10_000, 64
"""What an answer may hold that is of use only whole: parts of a container, and levels."""


@op(access="read", toolset="story")
def explain_variant(
    call: Call, variant_id: VariantId, modes: Modes = None, overrides: Overrides = None
) -> dict[str, Any]:
    """Say where each effective arg, tag, decorator, mode, event of a variant comes from.

    `covers` is what a value is laid over. What would keep it from being run is in `conflicts`.
    """
    # What few calls need is imported by them: every kernel pays for what stands above.
    from repl_pair.runtime.explanation import explain

    visible_entry(call.view, "variant", variant_id)
    if call.view.tier is not None:  # without one, an unknown mode is among the conflicts
        check_visible(call.view, "mode", modes)
    refuse_secret_overrides(call, variant_id, overrides)
    call.room, call.depth = WHOLE_ROOM, 16
    told = explain(variant_id, modes=modes or (), overrides=overrides)
    call.sensitive.extend(secrets_told(told, REGISTRY.find("story", story_of(variant_id))))
    _hide_mode_secrets(call, told["args"], modes)
    call.suggest(f"run_variant(variant_id={variant_id!r})")
    return _unnamed(call, {name: value for name, value in told.items() if value or name in _ALWAYS})


@op(access="read", toolset="story")
def list_substrates(call: Call) -> dict[str, Any]:
    """List the renderings: which of text, HTML, PNG and widgets this kernel has, and why."""
    from repl_pair.runtime import substrates  # as above

    items = substrates.list_substrates()
    return {"items": items, "total": len(items)}


@op(access="read", toolset="story")
def variant_to_data(call: Call, variant_id: VariantId) -> dict[str, Any]:
    """Give a variant's body as data that registers it again, byte for byte the same each time.

    `{"$ref"}` and `{"$type"}` mark what JSON cannot hold; a secret is not carried.
    """
    call.suggest(f"explain_variant(variant_id={variant_id!r})")
    return _data(call, "variant", variant_id)


@op(access="read", toolset="story")
def workspace_to_data(call: Call, workspace_id: WorkspaceId) -> dict[str, Any]:
    """Give a workspace's body as data that registers it again, byte for byte the same each time."""
    call.suggest(f"get_workspace(workspace_id={workspace_id!r})")
    return _data(call, "workspace", workspace_id)


_ALWAYS = ("args", "conflicts")


def _data(call: Call, kind: str, id: str) -> dict[str, Any]:
    from repl_pair.runtime.body_data import body_data  # as above

    entry = visible_entry(call.view, kind, id)
    call.room, call.depth = WHOLE_ROOM, WHOLE_DEPTH
    call.sensitive.extend(("body", *path) for path in secrets_of_entry(entry))
    call.asked.append(to_plain(plays_of(entry)))
    return {"id": id, "body": shown_slots(call, body_data(entry.body))}


def _hide_mode_secrets(call: Call, lines: list[dict[str, Any]], modes: Modes) -> None:
    """Hide, with what it covers, what a mode brings that is a secret of some story."""
    from repl_pair.runtime.mode_secrets import mode_secret_paths  # as above

    names = {path[0] for path in mode_secret_paths(modes or ())}
    for n, line in enumerate(lines):
        if str(parse_path(line["path"])[0]) in names:
            call.sensitive.append(("args", str(n), "value"))
            under = range(len(line.get("covers", ())))
            call.sensitive.extend(("args", str(n), "covers", str(m), "value") for m in under)


def _unnamed(call: Call, told: dict[str, Any]) -> dict[str, Any]:
    """Take the names out of entries that the view may not see; what they give has its effect."""
    if call.view.tier is None:
        return told
    return {slot: _renamed(call, slot, value) for slot, value in told.items()}


def _renamed(call: Call, slot: str, value: Any) -> Any:
    if isinstance(value, str):
        if slot in _NAMED:
            return shown_name(call, value, _NAMED[slot])
        if slot == "conflicts":
            return shown_text(call, value)
        return shown_words(call, value) if slot in _NAMING else value
    if isinstance(value, list):
        return [_renamed(call, slot, item) for item in cast("list[Any]", value)]
    if isinstance(value, dict) and slot in _LINES:
        line = cast("dict[str, Any]", value)
        return {
            name: _renamed(call, slot if name == "id" else name, item)
            for name, item in line.items()
        }
    return cast("Any", value)


_NAMING = ("source", "removed_by")
"""The slots whose texts name entries."""
_NAMED: Mapping[str, tuple[str, ...]] = {
    "chain": ("variant",),
    "tags": ("tag",),
    "removed_tags": ("tag",),
    "decorators": ("decorator",),
    "declared_modes": ("mode",),
}
"""The slots whose texts are ids, and of which kinds."""
_LINES = (
    "args",
    "argtypes",
    "covers",
    "tags",
    "removed_tags",
    "decorators",
    "declared_modes",
    "loaders",
    "loaders_complete_when",
    "loaders_teardown",
    "events",
    "substrates",
    "substrate",
)
