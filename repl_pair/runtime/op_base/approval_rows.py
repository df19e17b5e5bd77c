"""The calls that wait for approval, and what was granted, as rows for the person."""

import json
import time
from hashlib import sha256
from typing import TypedDict, cast

from repl_pair.errors import RequestError
from repl_pair.runtime.clients.approval import Answer, Approval
from repl_pair.runtime.op_base.table import TABLE, Preview
from repl_pair.runtime.values.invisible import escape_invisible
from repl_pair.wire import ACCESS


class ApprovalRow(Preview):
    """One call that waits for the person; `mark` changes with what it would do."""

    handle: str
    principal: str
    op: str
    access: list[str]
    asked_s: float
    expires_in_s: float
    mark: str


class GrantRow(TypedDict):
    """What an asker may call without approval: `covers` is the op, with the function where it has.

    A grant of run_function covers one function.
    """

    handle: str
    principal: str
    op: str
    covers: str


def describe_approval(approval: Approval) -> ApprovalRow:
    """Describe a waiting call to the person: who asks, how long it stays open, what it would do."""
    now, preview = time.time(), preview_call(approval)
    shown = json.dumps([preview["title"], preview["text"]])
    return {
        **preview,
        "handle": approval.handle,
        "principal": escape_invisible(approval.asker.principal, keep=""),
        "op": approval.op,
        "access": list(approval.access),
        "asked_s": round(now - approval.asked_at, 1),
        "expires_in_s": round(approval.expires_at - now, 1),
        "mark": sha256(shown.encode()).hexdigest(),
    }


def refuse_changed(approval: Approval, answer: Answer, mark: str) -> None:
    """Refuse to approve a call that would do something else than the person was shown."""
    is_open = answer != "deny" and approval.state == "pending"
    if is_open and describe_approval(approval)["mark"] != mark:
        why = "was not approved: what it would do changed since it was shown. Read it again."
        raise RequestError("cannot_run", f"{approval.op} {why}")


def describe_grant(grant: Approval) -> GrantRow:
    """Describe to the person that an asker may call an op without approval."""
    functions = sorted({*grant.access} - {*ACCESS})
    return {
        "handle": grant.handle,
        "principal": escape_invisible(grant.asker.principal, keep=""),
        "op": grant.op,
        "covers": escape_invisible(" ".join((grant.op, *functions)), keep=""),
    }


def preview_call(approval: Approval) -> Preview:
    """Return what a call would do, with real values, secrets too: for the person only.

    It is what the op itself shows of it, else its arguments as they are.
    """
    op = TABLE.get(approval.op)
    if approval.preview is not None:
        found = cast("Preview", approval.preview)
    elif op is not None and op.preview is not None:
        found = op.preview(approval.args, approval.asker.principal)
    else:
        text = json.dumps(approval.args, indent=2, sort_keys=True, ensure_ascii=False)
        found = Preview(kind="call", title=f"call {approval.op}", text=text)
    return {
        "kind": found["kind"],
        "title": escape_invisible(found["title"], keep=""),
        "text": escape_invisible(found["text"]),
    }
