"""What is looked at, in short: its status, identity, modes, renderings, and what is under way."""

from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.errors import ReplPairError
from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.runtime.authoring.substrates import list_substrates
from repl_pair.runtime.planning.identity import snapshot_identity
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Story, Variant
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last import is_stale, last_result
from repl_pair.runtime.results.record import RunRecord

FIRST_STEP = (
    "import repl_pair\n\n"
    '@repl_pair.story("shop.total")\n'
    "def total(items: list[float]) -> float:\n"
    "    return sum(items)\n\n"
    'repl_pair.variant("shop.total/Two", args={"items": [1.0, 2.5]})'
)


def head_of(context: PanelContext) -> Mapping[str, Any]:
    """Describe what is looked at, as far as it is registered."""
    focus = context.focus
    if focus.variant is not None:
        return _of(context, "variant", focus.variant)
    if focus.workspace is not None:
        return _of(context, "workspace", focus.workspace)
    if focus.story is not None:
        return _of(context, "story", focus.story)
    if REGISTRY.ids("story"):
        return {
            "kind": "nothing",
            "text": "Choose a story or variant in the explorer, or type:",
        } | {"code": f"repl_pair.show({_first()!r})"}
    return {"kind": "nothing", "text": "Nothing is registered yet. Begin with:", "code": FIRST_STEP}


def card_of(context: PanelContext, variant_id: str) -> Mapping[str, Any]:
    """Say of one variant among others what its last run gave."""
    entry, record = REGISTRY.find("variant", variant_id), last_result(variant_id)
    card = {"id": variant_id, "name": variant_id.partition("/")[2], "doc": ""}
    if entry is None:
        return card | {
            "missing": f"There is no variant {variant_id!r}: register it to see it here."
        }
    card["doc"] = lay_over(reachable_chain(entry)).doc.partition("\n")[0]
    return card | {"last": _last(record, None), "running": variant_id in context.running}


def waits_for(context: PanelContext) -> str:
    """Name the cell that what was asked for waits for; nothing where it runs, or none is asked."""
    cell = CELLS.current
    return cell.label if cell is not None and context.running else ""


def identity_of(focus: Focus) -> Identity | None:
    """Return the identity of what would be run, None where it cannot be."""
    assert focus.variant is not None
    try:
        return snapshot_identity(focus.variant, modes=focus.modes, overrides=focus.overrides)
    except ReplPairError:
        return None


def _of(context: PanelContext, kind: str, id: str) -> Mapping[str, Any]:
    entry = REGISTRY.find(kind, id)
    if entry is None:
        return {"kind": "missing", "id": id, "text": REGISTRY.missing(kind, id)}
    if kind == "variant":
        return _variant(context, entry)
    said = {"kind": kind, "id": id, "doc": entry.body.doc}
    return said | ({"layout": entry.body.layout} if kind == "workspace" else {})


def _variant(context: PanelContext, entry: Entry) -> Mapping[str, Any]:
    focus, body = context.focus, lay_over(reachable_chain(entry))
    story = REGISTRY.find("story", story_of(entry.id))
    if story is None:
        return {
            "kind": "missing",
            "id": entry.id,
            "text": REGISTRY.missing("story", story_of(entry.id)),
        }
    identity = identity_of(focus)
    return {
        "kind": "variant",
        "id": entry.id,
        "doc": body.doc or story.body.doc.partition("\n\n")[0],
        "last": _last(last_result(entry.id), identity),
        "identity": None if identity is None else _hashes(identity),
        "modes": _modes(focus, story.body, body),
        "active": list(focus.modes),
        "substrates": _substrates(focus, story.body, body),
        "running": entry.id in context.running,
        "waits_for": waits_for(context),
        "refusal": context.refusal or _refusal(focus),
        "edits": len(focus.overrides),
    }


def _last(record: RunRecord | None, identity: Identity | None) -> Mapping[str, Any] | None:
    """Describe how the last run ended, and whether it was one of what is looked at now."""
    if record is None:
        return None
    passed = sum(outcome.passed for outcome in record.assertions)
    said = {"status": record.status, "reason": record.reason, "total": record.total}
    said |= {"passed": passed, "elapsed_ms": record.elapsed_ms, "stale": is_stale(record)}
    other = None not in (identity, record.identity) and identity != record.identity
    return said | {"other": other and not said["stale"]}


def _hashes(identity: Identity) -> Mapping[str, str]:
    return {"content": identity.content_hash, "code": identity.code_hash}


def _modes(focus: Focus, story: Story, body: Variant) -> Sequence[Mapping[str, Any]]:
    """Return the modes that are declared to fit, and those that are active anyway."""
    names = dict.fromkeys([*story.modes, *body.modes, *focus.modes])
    return [_mode(name, active=name in focus.modes) for name in names]


def _mode(name: str, *, active: bool) -> Mapping[str, Any]:
    entry = REGISTRY.find("mode", name)
    said = {"id": name, "active": active, "known": entry is not None}
    return said if entry is None else said | {"axis": entry.body.axis, "doc": entry.body.doc}


def _substrates(focus: Focus, story: Story, body: Variant) -> Sequence[Mapping[str, Any]]:
    fitting = body.substrates or story.substrates
    return [
        {**line, "chosen": line["id"] == focus.substrate}
        for line in list_substrates()
        if not fitting or line["id"] in fitting
    ]


def _refusal(focus: Focus) -> str:
    """Describe why what is looked at cannot be run."""
    assert focus.variant is not None
    try:
        plan_variant(
            focus.variant,
            modes=focus.modes,
            overrides=focus.overrides,
            substrate=focus.substrate,
        )
    except ReplPairError as error:
        return error.message
    return ""


def _first() -> str:
    variants = REGISTRY.ids("variant")
    return variants[0] if variants else REGISTRY.ids("story")[0]
