"""What is in focus, in short: one variant with its status, or the cards of several together."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from repl_pair.errors import ReplPairError
from repl_pair.panels.base.context import PanelContext, run_state
from repl_pair.panels.base.widget import to_html
from repl_pair.panels.canvas.messages import About, Card, LastRun, Layout, ModeChoice
from repl_pair.runtime.authoring.substrates import list_substrates
from repl_pair.runtime.planning.planner import plan_variant, snapshot_identity
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.extending import lay_over, modes_along, reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Workspace
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import variants_of
from repl_pair.runtime.results.drift import is_stale
from repl_pair.runtime.results.last_results import last_result, last_verdict
from repl_pair.runtime.results.record import RunRecord

MAX_CARDS = 60
"""How many variants are laid out; `left_out` counts the others."""
FIRST_STEP = (
    "import repl_pair\n\n"
    '@repl_pair.story("shop.total")\n'
    "def total(items: list[float]) -> float:\n"
    "    return sum(items)\n\n"
    'repl_pair.variant("shop.total/Two", args={"items": [1.0, 2.5]})'
)


def about(context: PanelContext) -> About:
    """Describe what is in focus, as far as it is registered."""
    if context.focus.target is not None:
        kind, id = context.focus.target
        entry = REGISTRY.find(kind, id)
        if entry is None:
            return _missing(kind, id)
        if kind == "variant":
            return _variant(context, entry)
        if kind == "story":
            return {"kind": "story", "id": id, "doc": entry.body.doc}
        body = entry.body
        return {"kind": "workspace", "id": id, "doc": body.doc, "layout": body.layout}
    if stories := REGISTRY.ids("story"):
        first = (REGISTRY.ids("variant") or stories)[0]
        return {
            "kind": "nothing",
            "text": "Choose a story or variant in the explorer, or type:",
            "code": f"repl_pair.show({first!r})",
        }
    return {"kind": "nothing", "text": "Nothing is registered yet. Begin with:", "code": FIRST_STEP}


def card_of(context: PanelContext, variant_id: str) -> Card:
    """Describe one variant of a layout, with its last run."""
    entry, record = REGISTRY.find("variant", variant_id), last_verdict(variant_id)
    card: Card = {"id": variant_id, "name": variant_id.partition("/")[2], "doc": ""}
    if entry is None:
        card["missing"] = f"There is no variant {variant_id!r}: register it to see it here."
        return card
    card["doc"] = lay_over(reachable_chain(entry)).doc.partition("\n")[0]
    card["last"], card["running"] = _last(record, None), variant_id in context.running
    return card


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
            else {"markup": to_html(block["prose"])}
            for block in body.content
        ]
        return layout
    if body.layout == "custom":
        panel = layout["panel"] = body.render or ""
        if REGISTRY.find("panel", panel) is None:
            layout["fault"] = REGISTRY.missing("panel", panel)
    return _cards(layout, context, variants_of(body))


def _cards(layout: Layout, context: PanelContext, ids: Sequence[str]) -> Layout:
    cards = [card_of(context, id) for id in ids[:MAX_CARDS]]
    return {**layout, "cards": cards, "left_out": len(ids) - len(cards)}


def _missing(kind: str, id: str) -> About:
    return {"kind": "missing", "id": id, "text": REGISTRY.missing(kind, id)}


def _variant(context: PanelContext, entry: Entry) -> About:
    focus, chain = context.focus, reachable_chain(entry)
    body = lay_over(chain)
    story = REGISTRY.find("story", story_of(entry.id))
    if story is None:
        return {**_missing("story", story_of(entry.id)), "id": entry.id}
    planned: Mapping[str, Any] = {"modes": focus.modes, "overrides": focus.overrides}
    identity, refusal = None, ""
    with suppress(ReplPairError):  # there is none where it cannot be planned
        identity = snapshot_identity(entry.id, **planned)
    try:
        plan_variant(entry.id, **planned, substrate=focus.substrate)
    except ReplPairError as error:
        refusal = error.message
    cell, fitting = CELLS.current, body.substrates or story.body.substrates
    return {
        "kind": "variant",
        "id": entry.id,
        "doc": body.doc or story.body.doc.partition("\n\n")[0],
        "last": _last(last_result(entry.id), identity),
        "identity": identity and {"content": identity.content_hash, "code": identity.code_hash},
        # Those that are declared to fit, and those that are active anyway.
        "modes": [
            _mode(name, active=name in focus.modes)
            for name in dict.fromkeys([*modes_along(story.body, chain), *focus.modes])
        ],
        "active": list(focus.modes),
        "substrates": [
            {**line, "chosen": line["id"] == focus.substrate}
            for line in list_substrates()
            if not fitting or line["id"] in fitting
        ],
        "running": entry.id in context.running,
        "waits_for": cell.label if cell is not None and context.running else "",
        "refusal": context.refusal or refusal,
        "edits": len(focus.overrides),
    }


def _last(record: RunRecord | None, identity: Identity | None) -> LastRun | None:
    if record is None:
        return None
    is_other = None not in (identity, record.identity) and identity != record.identity
    return {
        **run_state(record),
        "other": is_other and not is_stale(record),
        "asked_by": record.asked_by,
    }


def _mode(name: str, *, active: bool) -> ModeChoice:
    entry = REGISTRY.find("mode", name)
    choice: ModeChoice = {"id": name, "active": active, "known": entry is not None}
    if entry is not None:
        choice["axis"], choice["doc"] = entry.body.axis, entry.body.doc
    return choice
