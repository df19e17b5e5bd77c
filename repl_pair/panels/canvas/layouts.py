"""Several variants together: a workspace in its layout, and a story as the grid of its variants."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.canvas.outputs import markup
from repl_pair.panels.canvas.summary import card_of
from repl_pair.runtime.registry.model import Workspace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import variants_of

MOST_CARDS = 60
"""How many variants are laid out; how many more there are is said."""


def lay_out_story(context: PanelContext, story_id: str) -> Mapping[str, Any]:
    """Lay out a story: all its variants in a grid."""
    return {"layout": "variants_grid", **_cards(context, REGISTRY.ids("variant", f"{story_id}/"))}


def lay_out(context: PanelContext, body: Workspace) -> Mapping[str, Any]:
    """Lay out a workspace."""
    about = {"layout": body.layout, "columns": body.columns, "shared": body.isolation == "shared"}
    return {**about, **_PARTS[body.layout](context, body)}


def _cards(context: PanelContext, ids: Sequence[str]) -> Mapping[str, Any]:
    cards = [card_of(context, id) for id in ids[:MOST_CARDS]]
    return {"cards": cards, "left_out": len(ids) - len(cards)}


def _variants(context: PanelContext, body: Workspace) -> Mapping[str, Any]:
    return _cards(context, variants_of(body))


def _prose(context: PanelContext, body: Workspace) -> Mapping[str, Any]:
    return {"blocks": [_block(context, block) for block in body.content]}


def _block(context: PanelContext, block: Mapping[str, Any]) -> Mapping[str, Any]:
    if "variant" in block:
        return {"card": card_of(context, block["variant"])}
    return {"markup": markup(block["prose"])}


def _custom(context: PanelContext, body: Workspace) -> Mapping[str, Any]:
    entry = REGISTRY.find("panel", body.render or "")
    missing = "" if entry is not None else REGISTRY.missing("panel", body.render or "")
    return {"panel": body.render, "missing": missing, **_cards(context, variants_of(body))}


_PARTS: Mapping[str, Callable[[PanelContext, Workspace], Mapping[str, Any]]] = {
    "grid": _variants,
    "prose": _prose,
    "variants_grid": _variants,
    "tabs": _variants,
    "custom": _custom,
}
