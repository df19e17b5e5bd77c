"""Several variants together: a workspace in its layout, and a story as the grid of its variants."""

from collections.abc import Sequence

from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.canvas.messages import Layout
from repl_pair.panels.canvas.outputs import markup
from repl_pair.panels.canvas.summary import card_of
from repl_pair.runtime.registry.model import Workspace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import variants_of

MOST_CARDS = 60
"""How many variants are laid out; `left_out` counts the others."""


def lay_out_story(context: PanelContext, story_id: str) -> Layout:
    """Lay out a story: all its variants in a grid."""
    return _cards({"layout": "variants_grid"}, context, REGISTRY.ids("variant", f"{story_id}/"))


def lay_out(context: PanelContext, body: Workspace) -> Layout:
    """Lay out a workspace."""
    layout: Layout = {
        "layout": body.layout,
        "columns": body.columns,
        "shared": body.isolation == "shared",
    }
    if body.layout == "prose":
        layout["blocks"] = [
            {"card": card_of(context, block["variant"])}
            if "variant" in block
            else {"markup": markup(block["prose"])}
            for block in body.content
        ]
        return layout
    if body.layout == "custom":
        panel = body.render or ""
        is_known = REGISTRY.find("panel", panel) is not None
        layout["panel"] = body.render
        layout["missing"] = "" if is_known else REGISTRY.missing("panel", panel)
    return _cards(layout, context, variants_of(body))


def _cards(layout: Layout, context: PanelContext, ids: Sequence[str]) -> Layout:
    cards = [card_of(context, id) for id in ids[:MOST_CARDS]]
    return {**layout, "cards": cards, "left_out": len(ids) - len(cards)}
