"""Ops over work sessions and notices."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, cast

from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.notices.notices import Notice, NoticeState, find_entry, list_notices
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.op_base.remarks import as_sent
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.project.database import project
from repl_pair.runtime.realm.status import contract_versions
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.sessions.open_sessions import OPEN
from repl_pair.runtime.sessions.sessions import (
    Start,
    Summary,
    WorkSession,
    find_dead,
    keep_abandoned,
    list_session_ids,
    read_session,
)
from repl_pair.runtime.signatures.outline import typed_slots
from repl_pair.wire import PERSON

_op = partial(op, toolset="session", project=True)


GOAL_CHARS = 500


class StartedSession(WorkSession):
    """The open session; `already_open`: it was, and its goal is as it was."""

    already_open: NotRequired[Literal[True]]


@_op(access="run")
def session_start(
    call: Call,
    goal: Annotated[str, "What you are about to do"] = "",
    rfc: Annotated[str | None, "The RFC that you work on"] = None,
) -> StartedSession:
    """Begin a work session: what you do from now on is counted until session_stop.

    It counts as abandoned if you leave the kernel first. If one is open, that one is returned.
    """
    _refuse_person(call)
    if len(goal) > GOAL_CHARS or len(rfc or "") > GOAL_CHARS:
        raise RequestError("bad_arguments", f"goal and rfc have at most {GOAL_CHARS} characters.")
    _end_left_sessions()
    start = Start(principal=call.view.principal, at=time.time(), goal=goal, rfc=rfc)
    id, is_new = OPEN.start(project(), start, call.owner, contract_versions(project().root))
    call.suggest("list_annotations")
    call.suggest("get_session", session_id=id)
    call.suggest("session_stop")
    started: StartedSession = {**_read(call, id)}
    if not is_new:
        started["already_open"] = True
    return started


@_op(access="run")
def session_stop(call: Call) -> Summary:
    """End your work session; answers what was done in it, counted as it happened."""
    _refuse_person(call)
    id = OPEN.stop(project(), call.owner, contract_versions(project().root))
    if id is None:
        raise RequestError(
            "not_found",
            "No work session of yours is open.",
            next_steps=[next_step("session_start")],
        )
    call.suggest("get_session", session_id=id)
    call.suggest("list_sessions")
    found = _read(call, id)
    return cast("Summary", {slot: found[slot] for slot in typed_slots(Summary) or ()})


@_op(access="read")
def list_sessions(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[WorkSession]:
    """List your work sessions, the newest first, and what was done in each."""
    call.max_items = limit
    _end_left_sessions()
    with project().reading() as connection:
        ids = list_session_ids(connection, call.view)
        query = [call.view.principal, ids]
        chosen = page(ids, limit=limit, cursor=cursor, query=query)
        items = [_shown(call, read_session(connection, call.view, id)) for id in chosen["items"]]
    for found in items[:1]:
        call.suggest("get_session", session_id=found["id"])
    _suggest_own(call)
    return {**chosen, "items": items}


@_op(access="read")
def get_session(call: Call, session_id: Annotated[str, "As list_sessions has it"]) -> WorkSession:
    """Read one work session: its goal, how it ended, and what was done in it."""
    _end_left_sessions()
    _suggest_own(call)
    call.suggest("list_sessions")
    return _read(call, session_id)


@_op(access="read")
def notifications_list(
    call: Call,
    state: Annotated[Literal[NoticeState, "all"], "Only in this state"] = "pending",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[Notice]:
    """List what changed and concerns you: annotations, answered approvals, verdicts, contracts.

    The latest change first. A notice is seen once a reply has shown its id and you call again; it
    expires after 7 days.
    """
    call.max_items = limit
    with _if_writable():
        LATER.flush()
    with project().reading() as connection:
        found = {notice["id"]: notice for notice in list_notices(connection, call.view, state)}
    query = [call.view.principal, state, call.view.tier, list(found)]
    chosen = page(list(found), limit=limit, cursor=cursor, query=query)
    items = [found[id] for id in chosen["items"]]
    for notice in items:
        _suggest_for(call, notice)
    if not call.next_steps:
        other = "all" if state == "pending" else "pending"
        call.suggest("notifications_list", state=other)
    return {**chosen, "items": items}


def _refuse_person(call: Call) -> None:
    if call.view.principal == PERSON:
        raise RequestError(
            "bad_arguments",
            "A work session is an agent's, and ends with its client; a command of a terminal ends "
            "with its call. list_sessions has the sessions of agents.",
            next_steps=[next_step("list_sessions")],
        )


def _end_left_sessions() -> None:
    """End what nobody can stop any more, and write what is counted."""
    OPEN.abandon_ended()
    with _if_writable():
        LATER.flush()
        with project().reading() as connection:
            dead = find_dead(connection)
        if dead:
            with project().writing() as connection:
                keep_abandoned(connection, dead)


@contextmanager
def _if_writable() -> Generator[None]:
    """Go on after the block where nothing can be written now: what is kept can still be read."""
    try:
        yield
    except RequestError as error:
        if error.code != "cannot_run":
            raise


def _read(call: Call, id: str) -> WorkSession:
    with project().reading() as connection:
        return _shown(call, read_session(connection, call.view, id))


def _shown(call: Call, found: WorkSession) -> WorkSession:
    """Leave the caller's own words as they are: a marker would confirm a guess."""
    slots: dict[str, Any] = {**found}
    if found["principal"] == call.view.principal != PERSON:
        own = {slot: text for slot in ("goal", "rfc") if (text := slots[slot])}
        slots |= {slot: call.add_raw_json(as_sent(call, text)) for slot, text in own.items()}
    return cast("WorkSession", slots)


def _suggest_own(call: Call) -> None:
    """Suggest to stop the caller's open session, or to start one."""
    if call.view.principal != PERSON:
        call.suggest("session_start" if OPEN.find(call.owner) is None else "session_stop")


def _suggest_for(call: Call, notice: Notice) -> None:
    kind, _, id = notice["subject"].partition(":")
    entry = find_entry(notice["subject"])
    if notice["kind"] == "remark":
        call.suggest("list_annotations", target=notice["subject"])
    elif notice["kind"] == "binding":
        call.suggest("realm_status")
    elif notice["kind"] == "contract":
        call.suggest("realm_check")
    elif kind == "variant" and entry is not None and is_seen(call.view, entry):
        call.suggest("read_assertions", variant_id=id)
