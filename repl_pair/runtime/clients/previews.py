"""Previews: what a call that waits for approval would do, as text for the person."""

import json
import time
from dataclasses import replace
from difflib import unified_diff
from typing import Any, TypedDict
from unicodedata import category

from repl_pair.records import record
from repl_pair.runtime.clients.approvals import Approval, Grant
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY

REGISTER = "register_"
CODE = "code"
"""The argument that holds code."""


@record
class Preview:
    """What would happen; `kind` is the form of `text`: diff, code, list or call."""

    kind: str
    title: str
    text: str


def preview_call(approval: Approval) -> Preview:
    """Return what a call would do, with real values, secrets too: for the person only.

    A registration is a unified diff of the registered body and the new one, both as JSON.
    Invisible characters, and those that reorder others, are escaped.
    """
    shown = _show(approval)
    return replace(shown, title=escape_invisible(shown.title), text=escape_invisible(shown.text))


class ApprovalRow(TypedDict):
    """One call that waits for the person, with its preview."""

    handle: str
    principal: str
    op: str
    access: list[str]
    asked_s: float
    expires_in_s: float
    kind: str
    title: str
    text: str


class GrantRow(TypedDict):
    """One op that an asker may call without approval."""

    handle: str
    principal: str
    op: str


def describe_approval(approval: Approval) -> ApprovalRow:
    """Describe a waiting call to the person: who asks, how long it stays open, what it would do."""
    shown, now = preview_call(approval), time.time()
    return {
        "handle": approval.handle,
        "principal": approval.asker.principal,
        "op": approval.op,
        "access": list(approval.access),
        "asked_s": round(now - approval.asked_at, 1),
        "expires_in_s": round(approval.expires_at - now, 1),
        "kind": shown.kind,
        "title": shown.title,
        "text": shown.text,
    }


def describe_grant(grant: Grant) -> GrantRow:
    """Describe to the person that an asker may call an op without approval."""
    return {"handle": grant.handle, "principal": grant.asker.principal, "op": grant.op}


def escape_invisible(text: str) -> str:
    """Write invisible characters as `<U+202E>`; line ends and tabs stay."""
    return "".join(
        f"<U+{ord(each):04X}>" if each not in "\n\t" and category(each) in _INVISIBLE else each
        for each in text
    )


_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def _show(approval: Approval) -> Preview:
    op, args = approval.op, approval.args
    if op.startswith(REGISTER):
        kind = op.removeprefix(REGISTER)
        id = str(args.get(f"{kind}_id"))
        before = _registered_text(kind, id)
        verb = "replace" if before else "register"
        text = _diff(before, _json(args.get("body")), id)
        return Preview(kind="diff", title=f"{verb} {kind} {id}", text=text)
    if op == "unregister":
        kind, id = str(args.get("kind")), str(args.get("id"))
        text = _diff(_registered_text(kind, id), "", id)
        return Preview(kind="diff", title=f"take out {kind} {id}", text=text)
    if op in ("clear_kind", "clear_all"):
        kinds = [str(args["kind"])] if "kind" in args else KINDS
        gone = [
            f"{kind} {id}"
            for kind in kinds
            if kind in KINDS
            for id, entry in sorted(REGISTRY.snapshot(kind).items())
            if is_agents(entry.origin)
        ]
        return Preview(kind="list", title=f"take out {len(gone)} entries", text="\n".join(gone))
    if isinstance(args.get(CODE), str):
        return Preview(kind="code", title=f"run code by {op}", text=args[CODE])
    return Preview(kind="call", title=f"call {op}", text=_json(args))


def _registered_text(kind: str, id: str) -> str:
    is_known = kind in KINDS and REGISTRY.find(kind, id) is not None
    return _json(to_data(kind, id)) if is_known else ""


def _diff(before: str, after: str, id: str) -> str:
    lines = unified_diff(
        before.splitlines(), after.splitlines(), f"{id} (now)", f"{id} (asked)", lineterm=""
    )
    return "\n".join(lines)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
