"""Remarks as a reply holds them, and as the person reads them who is asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, count_of
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import Preview
from repl_pair.runtime.project.database import project
from repl_pair.runtime.review import annotations, reviews
from repl_pair.runtime.review.model import Annotation
from repl_pair.runtime.review.querying import placers_of
from repl_pair.runtime.secrets.egress import Limits, send_out
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.wire import ACCESS, PERSON, View


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


def preview_edit(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the person, who is asked, the remark that would be edited, and its new words."""
    id = str(args.get("annotation_id"))
    return _preview("edit", lambda: _thread(id)[:1], f"+ {args.get('content')}")


def preview_deletion(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the remark that would be deleted, and the replies that go with it."""
    return _preview("delete", lambda: _thread(str(args.get("annotation_id"))))


def preview_submission(args: Mapping[str, Any], principal: str) -> Preview:
    """Show the remarks that would be submitted; without ids those that wait there now."""
    ids, view = args.get("annotation_ids"), View(principal=principal, access=frozenset(ACCESS))

    def find() -> Sequence[Annotation]:
        if ids is None:
            return reviews.waiting_annotations(project(), view, str(args.get("target")))
        return [_thread(id)[0] for id in dict.fromkeys(ids)]

    return _preview("submit", find)


def _preview(verb: str, find: Callable[[], Sequence[Annotation]], *added: str) -> Preview:
    found, refusal = list[Annotation](), list[str]()
    try:
        found = [*find()]
    except RequestError as error:  # it went while its caller waited
        refusal = [error.message]
    rows = [f"{one['principal']} on {one['target']}: {one['content']}" for one in found]
    # What is no new row is indented: else words of an agent could be taken for one.
    lines = [row.replace("\n", "\n    ") for row in (*rows, *refusal, *added)]
    title = f"{verb} {count_of(len(rows), 'remark')}"
    return {"kind": "list", "title": title, "text": "\n".join(lines)}


def _thread(id: str) -> list[Annotation]:
    thread = annotations.get_annotation(project(), View(), id)
    return [thread["annotation"], *thread["replies"]]
