"""Opens a request as a job: whether it may be taken, by whom, and what its call carries."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import KernelError, ReplPairError, RequestError, next_step
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approval import Asker, approval_required
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.clients.clients import BOOT, CLIENTS, check_pause
from repl_pair.runtime.kernel import packaging
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.notice_sources import NOTICE_SOURCES
from repl_pair.runtime.notices.in_replies import REPLY_NOTICES
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import check_call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets
from repl_pair.runtime.secrets.learning import DEEP, learn_secrets
from repl_pair.runtime.sessions.open_sessions import OPEN
from repl_pair.version import VERSION
from repl_pair.wire import LATE, PERSON, PROTOCOL, OnReply, Request, SendProgress, View, monotonic


def open_job(content: Mapping[str, Any], reply: OnReply, progress: SendProgress) -> Job | None:
    """Return the job of a request; None where it was refused, and has been answered.

    Any other exception than a ReplPairError is the caller's to answer.
    """
    request = None
    try:
        request = _read(content)
        return _open(request, reply, progress)
    except ReplPairError as error:
        op = TABLE.get(request.op) if request else None
        # The bridge sends a late request again.
        if request and LATE not in error.detail and (op is None or not op.internal):
            LOG.refuse(request, error)
        secrets = None
        if request is not None:
            secrets = CallSecrets(request.view.principal)
            secrets.take_sent([request.op, request.args])
        reply(packaging.refuse(error, secrets=secrets))
    return None


def _open(request: Request, reply: OnReply, progress: SendProgress) -> Job:
    if request.boot not in (None, BOOT.id):
        raise KernelError(
            "kernel_restarted",
            "The request was meant for a kernel process that has ended; nothing was run.",
            detail={"boot": BOOT.id},
            next_steps=[next_step("list_stories")],
        )
    if request.take_by is not None and monotonic() > request.take_by:
        raise RequestError(
            "cancelled",
            "The request came too late to be taken up; nothing was run.",
            detail={LATE: monotonic()},
        )
    if request.view.principal != PERSON:
        CLIENTS.note_access(request.client, request.view.access)
    check_pause(request.view)
    BOOT.refuse_repeated(request.call)
    REGISTRY.retire_stale()
    view = _approved_view(request) if request.approval else request.view
    op = TABLE.find(request.op, view)
    args = check_call(op, request.args, view)
    terms = None if op.terms is None else op.terms(view, args)
    if terms is not None and (closed := terms.access - view.access):
        raise approval_required(op.name, closed)
    BOOT.note_call(request.call)
    if view.principal != PERSON:
        learn_secrets(deep=DEEP)  # what the person holds is a secret, also where the agent sends it
        if request.args:
            NEEDLES.note_sent(request.args)
    since = monotonic()
    call = Call(
        id=request.call,
        view=view,
        client=request.client,
        secrets=CallSecrets(view.principal),
        terms=terms,
        progress=lambda message: progress(
            packaging.progress_content(request.call, message, since=since)
        ),
    )
    NOTICE_SOURCES.serve(request)
    if not op.internal:
        reply = REPLY_NOTICES.follow(request, reply, lambda: call.is_awaited)
        reply = LOG.follow(request, OPEN.follow(request, reply))
    job = Job(
        op=op.on_terms(terms),
        args=args,
        call=call,
        reply=reply,
        begin_by=request.begin_by,
        admit=lambda: _admit(request),
    )
    job.at_end(lambda: job.answered or job.answer(packaging.no_answer(job)))
    return job


def _read(content: Mapping[str, Any]) -> Request:
    if content.get("protocol") != PROTOCOL:
        raise KernelError(
            "version_mismatch",
            f"The kernel runs repl_pair {VERSION} with protocol {PROTOCOL}, the caller has "
            f"{content.get('protocol')}: install the same version on both sides.",
        )
    try:
        return Request.from_wire(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RequestError("bad_arguments", f"That is not a request: {error!r}.") from error


def _admit(request: Request) -> None:
    try:
        check_pause(request.view)
    except KernelError:
        if request.approval is not None:
            QUEUE.give_back(request.approval)
        raise


def _approved_view(request: Request) -> View:
    assert request.approval is not None
    asker = Asker(principal=request.view.principal, client=request.client)
    access = QUEUE.take(request.approval, request.op, request.args, asker)
    return replace(request.view, access=request.view.access | access)
