"""Remarks as a reply holds them, and as the person reads them who is asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, count_of
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import Preview
from repl_pair.runtime.project.database import project
from repl_pair.runtime.review import annotations
from repl_pair.runtime.review.model import Annotation
from repl_pair.runtime.review.querying import placers_of
from repl_pair.runtime.secrets.egress import Limits, send_out
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.wire import PERSON, View


def shown_remarks(call: Call, found: Sequence[Annotation]) -> list[Any]:
    """Return annotations as a reply holds them.

    Words that the caller itself wrote stay as they are: a marker would confirm a guess. Of what
    agents wrote nothing is learned.
    """
    replies = [one["id"] for one in found if one["parent_id"] is not None]
    placers = placers_of(project(), replies) if replies else dict[str, str]()
    return [_shown_one(call, one, placers.get(one["id"], one["principal"])) for one in found]


def _shown_one(call: Call, one: Annotation, placer: str) -> Any:
    author, caller = one["principal"], call.view.principal
    slots: Mapping[str, Any] = {**one}
    writers = {"content": one.get("edited_by", author), "quote": author}
    writers |= {"target": placer, "section": placer}
    if by_agents := [slots[slot] for slot, writer in writers.items() if writer != PERSON]:
        call.secrets.ignore(by_agents)
    own = [slot for slot, writer in writers.items() if writer == caller != PERSON]
    return {**slots, **{slot: call.add_raw_json(as_sent(call, slots[slot])) for slot in own}}


def as_sent(call: Call, text: str) -> Any:
    """Return a text of the caller's as it sent it, for `Call.add_raw_json`."""
    secrets = CallSecrets(call.view.principal)
    secrets.take_sent(text)
    limits = Limits(text=max(Limits().text, call.max_items))
    return send_out(text, secrets=secrets, limits=limits).value


def preview_remarks(verb: str, args: Mapping[str, Any]) -> Preview:
    """Show the person, who is asked, the remarks that a call would change."""
    ids: Sequence[str] = args.get("annotation_ids") or [str(args.get("annotation_id"))]
    if "target" in args and not args.get("annotation_ids"):
        return {"kind": "call", "title": f"submit the drafts on {args['target']}", "text": ""}
    lines = [line for id in ids for line in _lines_of(id)]
    after = [f"+ {args['content']}"] if "content" in args else []
    title = f"{verb} {count_of(len(lines), 'remark')}"
    return {"kind": "list", "title": title, "text": "\n".join([*lines, *after])}


def _lines_of(id: str) -> list[str]:
    try:
        thread = annotations.get_annotation(project(), View(), id)
    except RequestError as error:  # it went while its caller waited
        return [error.message]
    whole = [thread["annotation"], *thread["replies"]]
    return [f"{one['principal']} on {one['target']}: {one['content']}" for one in whole]
