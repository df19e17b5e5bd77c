"""The kernel end of the link: accepts requests, gives each its lane, answers each once."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import KernelError, ReplPairError, RequestError
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approvals import QUEUE, Asker
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.clients.pausing import check_pause
from repl_pair.runtime.kernel import host_ops
from repl_pair.runtime.kernel.deadlines import GRACE_S, LATER_S, Deadlines
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.lanes import Lanes
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import TABLE, Table, check_call
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.stopping.stop import STOPS, Section, Stop, stop_of, unstopped, while_live
from repl_pair.runtime.surface import STORE, Change
from repl_pair.version import VERSION
from repl_pair.wire import (
    LATE,
    PROTOCOL,
    EventContent,
    Greeting,
    ProgressContent,
    Reply,
    Request,
    View,
)

assert host_ops, "importing it registers its ops"

Progress = Callable[[ProgressContent], None]


class Host:
    """Answers requests in this process; `boot` is the id of the process."""

    def __init__(
        self, *, lanes: Lanes, publish: Callable[[EventContent], None], table: Table = TABLE
    ) -> None:
        self.boot = BOOT.id
        self.lanes = lanes
        self.table = table
        self._jobs: dict[str, Job] = {}
        self._deadlines = Deadlines(
            blocked_by=lanes.blocked_by, give_up=self._answer_unbegun, answer_for=self._answer_for
        )
        self._unsubscribe = STORE.subscribe(
            lambda change: publish(event_content(self.boot, change))
        )
        self._end_own_calls = OWN_CALLS.serve(self)

    def greeting(self) -> Greeting:
        """Describe this process to a client."""
        return {
            "boot": self.boot,
            "version": VERSION,
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "clock": time.monotonic(),
        }

    def submit(
        self, content: Mapping[str, Any], reply: Callable[[Reply], None], progress: Progress
    ) -> None:
        """Accept a request and return at once; `reply` is called exactly once, on any thread."""
        request = None
        try:
            request = _read(content)
            job = self._open(request, reply, progress)
        except ReplPairError as error:
            op = self.table.get(request.op) if request else None
            # The bridge sends a late request again.
            if request and LATE not in error.detail and (op is None or not op.internal):
                LOG.refuse(request, error)
            reply(_packaging().refuse(error, boot=self.boot))
            return
        self._deadlines.watch(job)
        getattr(self.lanes, job.lane)(job, self._perform)

    def cancel(self, call_id: str) -> bool:
        """Stop a call; False if it is not in progress. No code of the person is interrupted."""
        job = self._jobs.get(call_id)
        if job is None:
            return False
        job.call.decide()
        self._deadlines.stop(job, Stop("cannot_run", "cancelled by the caller"))
        refusal = RequestError("cancelled", "The caller cancelled the call.")
        job.answer(_packaging().refuse(refusal, boot=self.boot), unbegun=True)
        return True

    def close(self, why: str = "repl_pair was closed") -> None:
        """Close the host; calls in progress are stopped, and answered with the reason `why`."""
        self._end_own_calls()
        self._unsubscribe()
        for call_id in list(self._jobs):
            self.drop(call_id, why)
        self.lanes.close()
        self._deadlines.close()

    def drop(self, call_id: str, why: str) -> None:
        """Stop a call and answer its caller at once with a refusal; what it returns is dropped."""
        job = self._jobs.get(call_id)
        if job is not None:
            job.call.decide()
            refusal = RequestError("cancelled", f"{job.op.name} was cancelled: {why}.")
            job.answer(_packaging().refuse(refusal, boot=self.boot))
            self._deadlines.stop(job, Stop("cannot_run", f"cancelled: {why}"))

    def _open(self, request: Request, reply: Callable[[Reply], None], progress: Progress) -> Job:
        if request.boot not in (None, self.boot):
            raise KernelError(
                "kernel_restarted",
                "The request was meant for an earlier life of this kernel; nothing was run.",
                detail={"boot": self.boot},
                next_steps=["list_stories()"],
            )
        if request.take_by is not None and time.monotonic() > request.take_by:
            raise RequestError(
                "cancelled",
                "The request came too late to be taken up; nothing was run.",
                detail={LATE: time.monotonic()},
            )
        check_pause(request.view)
        BOOT.refuse_repeated(request.call)
        REGISTRY.retire_stale()
        view = _approved_view(request) if request.approval else request.view
        op = self.table.find(request.op, view)
        check_call(op, request.args, view)
        BOOT.note_call(request.call)
        reply = reply if op.internal else LOG.follow(request, reply)
        since = time.monotonic()
        call = Call(
            id=request.call,
            view=view,
            client=request.client,
            progress=lambda message: progress(
                _packaging().progress_content(request.call, message, since=since)
            ),
        )
        job = Job(op=op, args=request.args, call=call, reply=reply, begin_by=request.begin_by)

        job.at_answer(lambda: self._jobs.pop(request.call, None))
        job.at_end(lambda: job.answered or job.answer(_packaging().no_answer(job)))
        self._jobs[request.call] = job
        return job

    def _answer_unbegun(self, job: Job, reason: str) -> None:
        job.call.suggest("kernel_status()", f"{job.op.name}(..., wait_s=120)")
        stop = Stop("cannot_run", reason)
        job.answer(self._unfinished_reply(job, stop), unbegun=True)

    def _answer_for(self, job: Job) -> None:
        """Answer a job that runs on, unless it is just building its own reply."""
        stop = job.requested_stop
        if stop is None or job.answered:
            return
        if job.call.decided and (job.stopping_s or 0.0) < GRACE_S + LATER_S:
            return
        job.call.suggest("kernel_status()")
        job.answer(self._unfinished_reply(job, unstopped(stop)))

    def _unfinished_reply(self, job: Job, stop: Stop) -> Reply:
        try:
            return _packaging().package_unfinished(job, stop, boot=self.boot)
        except Exception:  # noqa: BLE001  the caller must get an answer even then
            return _packaging().no_answer(job)

    async def _perform(self, job: Job, section: Section) -> None:
        """Run a job in a stoppable section; answer it outside, where no stop interrupts."""
        if not job.begin():
            return
        if job.lane == "main":
            self._deadlines.start(job)
        job.run_in(section)
        try:
            reply = await self._reply_to(job, section)
        except Exception:  # noqa: BLE001  the caller must get an answer even then
            reply = _packaging().no_answer(job)
        job.answer(reply)

    async def _reply_to(self, job: Job, section: Section) -> Reply:
        op, call = job.op, job.call

        async def work() -> Any:
            value = op.fn(**job.args, **({op.context: call} if op.context else {}))
            return await value if hasattr(value, "__await__") else value

        try:
            value = await (while_live(section, work) if op.stoppable else work())
        except ReplPairError as error:
            return _packaging().refuse(error, boot=self.boot, job=job)
        except STOPS as error:
            return _packaging().package_unfinished(job, stop_of(error), boot=self.boot)
        except BaseException as error:  # noqa: BLE001  an op of the user's may raise anything
            return _packaging().refuse(_packaging().defect(job, error), boot=self.boot, job=job)
        return _packaging().package(job, value, boot=self.boot)


def event_content(boot: str, change: Change) -> EventContent:
    """Return a change of the surface as the content of an event."""
    return {
        "boot": boot,
        "seq": change.seq,
        "member": change.member,
        "change": change.change,
        "key": change.key,
        "revision": change.revision,
    }


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
        raise RequestError("bad_arguments", f"That is no request: {error!r}.") from error


def _approved_view(request: Request) -> View:
    """Return the view with the access that an approval opens for this call, and use it up."""
    assert request.approval is not None
    asker = Asker(principal=request.view.principal, client=request.client)
    access = QUEUE.take(request.approval, request.op, request.args, asker)
    return replace(request.view, access=request.view.access | access)


def _packaging():  # noqa: ANN202  the type of a module can only be inferred
    # A quarter of what this package imports makes replies, and attaching makes none.
    from repl_pair.runtime.kernel import packaging

    return packaging
