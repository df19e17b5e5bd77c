"""The kernel end of the link: takes requests, gives each its lane, answers each once."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import KernelError, ReplPairError, RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.clients.activity import LOG
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
from repl_pair.wire import LATE, PROTOCOL, Event, Reply, Request, View

assert host_ops, "importing it enters its ops"

Progress = Callable[[dict[str, Any]], None]


class Host:
    """Answers requests for one life of one process; `boot` names that life."""

    def __init__(
        self,
        *,
        lanes: Lanes,
        publish: Callable[[dict[str, Any]], None],
        table: Table = TABLE,
    ) -> None:
        self.boot = BOOT.id
        self.lanes = lanes
        self.table = table
        self._publish = publish
        self._jobs: dict[str, Job] = {}
        self._deadlines = Deadlines(
            blocked_by=lambda view: self.lanes.blocked_by(view),
            give_up=self._give_up,
            answer_for=self._answer_for,
        )
        self._unsubscribe = STORE.subscribe(self._tell)
        self._end_errands = OWN_CALLS.serve(self)

    def greeting(self) -> dict[str, Any]:
        """Say who answers here and how to speak with it."""
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
        """Take one request and return at once; `reply` is called exactly once, on any thread."""
        try:
            request = _read(content)
        except ReplPairError as error:
            reply(_packaging().refuse(error, boot=self.boot))
            return
        try:
            job = self._open(request, reply, progress)
        except ReplPairError as error:
            self._note_refusal(request, error)
            reply(_packaging().refuse(error, boot=self.boot))
            return
        self._deadlines.watch(job)
        getattr(self.lanes, job.lane)(job, self._perform)

    def cancel(self, call_id: str) -> bool:
        """Stop a call; False if it is not under way. Nothing of the person's is interrupted."""
        job = self._jobs.get(call_id)
        if job is None:
            return False
        job.call.decide()
        self._deadlines.stop(job, Stop("cannot_run", "cancelled by the caller"))
        refusal = RequestError("cancelled", "The caller cancelled the call.")
        job.answer(_packaging().refuse(refusal, boot=self.boot), unbegun=True)
        return True

    def close(self, why: str = "repl_pair was closed") -> None:
        """Take out what was put in; calls under way are told to stop, and their callers why."""
        self._end_errands()
        self._unsubscribe()
        for call_id in list(self._jobs):
            self.drop(call_id, why)
        self.lanes.close()
        self._deadlines.close()

    def drop(self, call_id: str, why: str) -> None:
        """Stop a call, and tell its caller so at once: nobody waits for what it still gives."""
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
            raise _late()
        check_pause(request.view)
        BOOT.refuse_repeated(request.call)
        REGISTRY.retire_stale()
        view = _opened(request) if request.approval else request.view
        op = self.table.find(request.op, view)
        check_call(op, request.args, view)
        BOOT.note_call(request.call)
        reply = reply if op.internal else LOG.follow(request, reply)
        since = time.monotonic()
        call = Call(
            id=request.call,
            view=view,
            client=request.client,
            progress=lambda message: progress(_packaging().say(request.call, message, since=since)),
        )
        job = Job(op=op, args=request.args, call=call, reply=reply, begin_by=request.begin_by)
        job.at_answer(lambda: self._forget(request.call))
        job.at_end(lambda: self._make_sure(job))
        self._jobs[request.call] = job
        return job

    def _note_refusal(self, request: Request, error: ReplPairError) -> None:
        """Note what was refused, but for what comes again by itself."""
        op = self.table.get(request.op)
        if LATE not in error.detail and (op is None or not op.internal):
            LOG.refuse(request, error)

    def _forget(self, call_id: str) -> None:
        self._jobs.pop(call_id, None)

    def _give_up(self, job: Job, reason: str) -> None:
        job.call.suggest("kernel_status()", f"{job.op.name}(..., wait_s=120)")
        stop = Stop("cannot_run", reason)
        job.answer(self._surely(job, stop), unbegun=True)

    def _answer_for(self, job: Job) -> None:
        """Answer for a job that goes on, unless it just packs its own answer."""
        stop = job.requested_stop
        if stop is None or job.answered:
            return
        if job.call.decided and (job.stopping_s or 0.0) < GRACE_S + LATER_S:
            return
        job.call.suggest("kernel_status()")
        job.answer(self._surely(job, unstopped(stop)))

    def _make_sure(self, job: Job) -> None:
        if not job.answered:
            job.answer(_packaging().no_answer(job))

    def _surely(self, job: Job, stop: Stop) -> Reply:
        try:
            return _packaging().package_unfinished(job, stop, boot=self.boot)
        except Exception:  # noqa: BLE001  the last border: a caller is answered even then
            return _packaging().no_answer(job)

    async def _perform(self, job: Job, section: Section) -> None:
        """Run a job in a section that may be stopped; answer it outside, where nothing is cut."""
        if not job.begin():
            return
        if job.lane == "main":
            self._deadlines.start(job)
        job.run_in(section)
        try:
            reply = await self._reply_to(job, section)
        except Exception:  # noqa: BLE001  the last border: a caller is answered even then
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

    def _tell(self, change: Change) -> None:
        event = Event(
            boot=self.boot,
            seq=change.seq,
            member=change.member,
            change=change.change,
            key=change.key,
            revision=change.revision,
        )
        self._publish(to_dict(event))


def _read(content: Mapping[str, Any]) -> Request:
    if content.get("protocol") != PROTOCOL:
        raise KernelError(
            "version_mismatch",
            f"The kernel runs repl_pair {VERSION} with protocol {PROTOCOL}, the caller speaks "
            f"{content.get('protocol')}: install the same version on both sides.",
        )
    try:
        return Request.from_wire(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RequestError("bad_arguments", f"That is no request: {error!r}.") from error


def _opened(request: Request) -> View:
    """Return the view with what the person opened for this very call; that is used up with it."""
    # Only who was asked first pays for the room.
    from repl_pair.runtime.clients.approvals import QUEUE, Asker

    assert request.approval is not None
    asker = Asker(principal=request.view.principal, client=request.client)
    opened = QUEUE.take(request.approval, request.op, request.args, asker)
    return replace(request.view, access=request.view.access | opened)


def _late() -> RequestError:
    return RequestError(
        "cancelled",
        "The request came too late to be taken up; nothing was run.",
        detail={LATE: time.monotonic()},
    )


def _packaging():  # noqa: ANN202  the type of a module can only be inferred
    # A quarter of what this package imports makes replies, and attaching makes none.
    from repl_pair.runtime.kernel import packaging

    return packaging
