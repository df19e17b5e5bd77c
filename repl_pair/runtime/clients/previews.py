"""Previews: what a call that waits for approval would do, as text for the person."""

import json
import time
from difflib import unified_diff
from typing import Any, TypedDict

from repl_pair.runtime.clients.approvals import Approval
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.origin import agent_origin, may_replace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.invisible import escape_invisible

REGISTER = "register_"
CODE = "code"
"""The argument that holds code."""


class Preview(TypedDict):
    """What would happen; `kind` is the form of `text`: diff, code, list or call."""

    kind: str
    title: str
    text: str


def preview_call(approval: Approval) -> Preview:
    """Return what a call would do, with real values, secrets too: for the person only."""
    kind, title, text = _show(approval)
    return {"kind": kind, "title": escape_invisible(title, keep=""), "text": escape_invisible(text)}


class ApprovalRow(Preview):
    """One call that waits for the person, with its preview."""

    handle: str
    principal: str
    op: str
    access: list[str]
    asked_s: float
    expires_in_s: float


class GrantRow(TypedDict):
    """One op that an asker may call without approval."""

    handle: str
    principal: str
    op: str


def describe_approval(approval: Approval) -> ApprovalRow:
    """Describe a waiting call to the person: who asks, how long it stays open, what it would do."""
    now = time.time()
    return {
        **preview_call(approval),
        "handle": approval.handle,
        "principal": escape_invisible(approval.asker.principal, keep=""),
        "op": approval.op,
        "access": list(approval.access),
        "asked_s": round(now - approval.asked_at, 1),
        "expires_in_s": round(approval.expires_at - now, 1),
    }


def describe_grant(grant: Approval) -> GrantRow:
    """Describe to the person that an asker may call an op without approval."""
    return {"handle": grant.handle, "principal": grant.asker.principal, "op": grant.op}


def _show(approval: Approval) -> tuple[str, str, str]:
    op, args = approval.op, approval.args
    if op.startswith(REGISTER):
        kind = op.removeprefix(REGISTER)
        id = str(args.get(f"{kind}_id"))
        before = _registered_text(kind, id)
        verb = "replace" if before else "register"
        text = _diff(before, _json(args.get("body")), id)
        return "diff", f"{verb} {kind} {id}", text
    if op == "unregister":
        kind, id = str(args.get("kind")), str(args.get("id"))
        text = _diff(_registered_text(kind, id), "", id)
        return "diff", f"take out {kind} {id}", text
    if op in ("clear_kind", "clear_all"):
        kinds = [str(args["kind"])] if "kind" in args else KINDS
        writer = agent_origin(approval.asker.principal)
        gone = [
            f"{kind} {id}"
            for kind in kinds
            if kind in KINDS
            for id, entry in sorted(REGISTRY.snapshot(kind).items())
            if may_replace(writer, entry.origin)
        ]
        return "list", f"take out {len(gone)} entries", "\n".join(gone)
    if isinstance(args.get(CODE), str):
        return "code", f"run code by {op}", args[CODE]
    return "call", f"call {op}", _json(args)


def _registered_text(kind: str, id: str) -> str:
    is_known = kind in KINDS and REGISTRY.find(kind, id) is not None
    return _json(to_data(kind, id)) if is_known else ""


def _diff(before: str, after: str, id: str) -> str:
    # A line ends at "\n" alone: at other ends the text would be cut where the person sees none.
    old, new = ([] if not text else text.split("\n") for text in (before, after))
    return "\n".join(unified_diff(old, new, f"{id} (now)", f"{id} (asked)", lineterm=""))


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
