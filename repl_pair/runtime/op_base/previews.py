"""What a write would change in the registry, as text for the person who is asked for it."""

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from repl_pair.errors import count_of
from repl_pair.runtime.op_base.table import Preview, PreviewCall
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.origin import agent_origin, may_replace
from repl_pair.runtime.registry.registry import REGISTRY


def preview_entry(kind: str) -> PreviewCall:
    """Make the preview of an op that registers `body` under `<kind>_id`."""

    def preview(args: Mapping[str, Any], _principal: str) -> Preview:
        id = str(args.get(f"{kind}_id"))
        before = _registered_text(kind, id)
        verb = "replace" if before else "register"
        text = _diff(before, _json(args.get("body")), id)
        return {"kind": "diff", "title": f"{verb} {kind} {id}", "text": text}

    return preview


def preview_removal(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the entry of `kind` and `id` that would go."""
    kind, id = str(args.get("kind")), str(args.get("id"))
    text = _diff(_registered_text(kind, id), "", id)
    return {"kind": "diff", "title": f"unregister {kind} {id}", "text": text}


def preview_clearing(args: Mapping[str, Any], principal: str) -> Preview:
    """List the entries of the caller, of `kind` or of every one, that would go."""
    kinds: Sequence[str] = [str(args["kind"])] if "kind" in args else list(KINDS)
    writer = agent_origin(principal)
    gone = [
        f"{kind} {id}"
        for kind in kinds
        if kind in KINDS
        for id, entry in sorted(REGISTRY.snapshot(kind).items())
        if may_replace(writer, entry.origin)
    ]
    title = f"unregister {count_of(len(gone), 'entry', 'entries')}"
    return {"kind": "list", "title": title, "text": "\n".join(gone)}


def preview_code(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the code that would run, and over which names."""
    where = "in your namespace" if args.get("scope") == "user" else "over a copy of your namespace"
    seconds = f", for up to {args['timeout_s']:g} s" if "timeout_s" in args else ""
    return {"kind": "code", "title": f"run code {where}{seconds}", "text": str(args.get("code"))}


def preview_function(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the function of the app that would be called, what it does, and its arguments."""
    id = str(args.get("function"))
    entry = REGISTRY.find("function", id)
    does = "" if entry is None else entry.body.doc.partition("\n")[0]
    text = "\n".join(filter(None, [does, _json(args.get("args") or {})]))
    return {"kind": "call", "title": f"call {id}", "text": text}


def _registered_text(kind: str, id: str) -> str:
    is_known = kind in KINDS and REGISTRY.find(kind, id) is not None
    return _json(to_data(kind, id)) if is_known else ""


def _diff(before: str, after: str, id: str) -> str:
    # A line ends at "\n" alone: at other ends the text would be cut where the person sees none.
    old, new = ([] if not text else text.split("\n") for text in (before, after))
    return "\n".join(unified_diff(old, new, f"{id} (now)", f"{id} (asked)", lineterm=""))


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
