"""The kernel end of the link: takes requests, gives each its lane, answers each once."""

import asyncio
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import KernelError, ReplPairError, RequestError
from repl_pair.records import to_dict
from repl_pair.runtime import egress, ops
from repl_pair.runtime.handles import HANDLES
from repl_pair.runtime.jobs import Job
from repl_pair.runtime.lanes import Lanes
from repl_pair.runtime.namespace import learn_secrets
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import TABLE, Table, check_call
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.runtime.stopping import RunStopped, Section, stop_of
from repl_pair.runtime.surface.store import STORE, Change
from repl_pair.runtime.timers import Timers
from repl_pair.version import VERSION
from repl_pair.wire import PROTOCOL, Event, Reply, Request, error_reply, ok_reply

assert ops

GRACE_S = 0.5
"""What a run gets to end by itself after it was told to, before its caller is answered for it."""
TICK_S = 1.0
"""How often a caller that waits for the main lane is told so."""
REMEMBERED_CALLS = 10_000
SENTENCE_CHARS = 2_000

Progress = Callable[[dict[str, Any]], None]

_STOPS = (RunStopped, asyncio.CancelledError, KeyboardInterrupt)


class Host:
    """Answers requests for one life of one process; `boot` names that life."""

    def __init__(
        self,
        *,
        lanes: Lanes,
        publish: Callable[[dict[str, Any]], None],
        table: Table = TABLE,
    ) -> None:
        self.boot = uuid.uuid4().hex
        self.lanes = lanes
        self.table = table
        self._publish = publish
        self._jobs: dict[str, Job] = {}
        self._seen: dict[str, None] = {}
        self._timers = Timers()
        self._unsubscribe = STORE.subscribe(self._tell)

    def greeting(self) -> dict[str, Any]:
        """Say who answers here and how to speak with it."""
        return {
            "boot": self.boot,
            "version": VERSION,
            "protocol": PROTOCOL,
            "pid": os.getpid(),
        }

    def submit(
        self, content: Mapping[str, Any], reply: Callable[[Reply], None], progress: Progress
    ) -> None:
        """Take one request and return at once; `reply` is called exactly once, on any thread."""
        try:
            job = self._open(content, reply, progress)
        except ReplPairError as error:
            reply(self._refusal(error))
            return
        self._bound(job)
        getattr(self.lanes, job.lane)(job, self._perform)

    def cancel(self, call_id: str) -> bool:
        """Stop a call; False if it is not under way. Nothing of the person's is interrupted."""
        job = self._jobs.get(call_id)
        if job is None:
            return False
        job.call.cancelled.set()
        job.stop(RunStopped("cannot_run", "cancelled by the caller"))
        refusal = RequestError("cancelled", "The caller cancelled the call.")
        job.answer(self._refusal(refusal), unbegun=True)
        return True

    def close(self) -> None:
        """Take out what was put in; calls under way are told to stop."""
        self._unsubscribe()
        for call_id in list(self._jobs):
            self.cancel(call_id)
        self.lanes.close()

    def _open(
        self, content: Mapping[str, Any], reply: Callable[[Reply], None], progress: Progress
    ) -> Job:
        request = _read(content)
        if request.boot not in (None, self.boot):
            raise KernelError(
                "kernel_restarted",
                "The request was meant for an earlier life of this kernel; nothing was run.",
                detail={"boot": self.boot},
                next_steps=["list_stories()"],
            )
        if request.call in self._seen:
            raise RequestError("bad_arguments", f"Call {request.call} came twice; it ran once.")
        REGISTRY.settle()
        op = self.table.find(request.op, request.view)
        check_call(op, request.args, request.view)
        self._remember(request.call)
        since = time.monotonic()
        call = Call(
            id=request.call,
            view=request.view,
            progress=lambda message: progress(_told(request.call, message, since)),
        )
        job = Job(op=op, args=request.args, call=call, reply=reply)
        job.at_end(lambda: self._forget(request.call))
        self._jobs[request.call] = job
        return job

    def _remember(self, call_id: str) -> None:
        self._seen[call_id] = None
        if len(self._seen) > REMEMBERED_CALLS:
            del self._seen[next(iter(self._seen))]

    def _forget(self, call_id: str) -> None:
        self._jobs.pop(call_id, None)

    def _bound(self, job: Job) -> None:
        """See to it that the caller is answered in time, whatever the lane does."""
        if job.lane == "inline":
            return
        if job.lane == "main":
            job.at_end(self._timers.every(TICK_S, lambda: self._say_waiting(job)))
            job.at_end(self._timers.after(job.wait_s, lambda: self._give_up(job)))
        else:
            self._start_clock(job)

    def _start_clock(self, job: Job) -> None:
        limit = job.op.deadline(job.args)
        if limit is not None:
            job.at_end(self._timers.after(limit, lambda: self._expire(job, limit)))

    def _say_waiting(self, job: Job) -> None:
        if not job.begun:
            job.call.progress(f"waiting: {self.lanes.blocked_by() or 'the main lane is busy'}")

    def _give_up(self, job: Job) -> None:
        if job.begun:
            return
        why = self.lanes.blocked_by() or "the main lane is busy"
        waited = f"not started within {job.wait_s:g} s: {why}"
        job.call.suggest(
            "kernel_status()",
            f"{job.op.name}(..., wait_s=120)",
        )
        if job.op.unstarted is None:
            job.answer(self._refusal(RequestError("cannot_run", waited)), unbegun=True)
        else:
            job.answer(self._package(job, job.op.unstarted(job.args, waited)), unbegun=True)

    def _expire(self, job: Job, limit: float) -> None:
        reason = f"not done within {limit:g} s"
        job.stop(RunStopped("error", reason))
        job.at_end(self._timers.after(GRACE_S, lambda: self._answer_for(job, reason)))

    def _answer_for(self, job: Job, reason: str) -> None:
        job.call.cancelled.set()
        error = RequestError(
            "deadline",
            f"{job.op.name}: {reason}, and it could not be stopped: it still runs.",
            detail={"still_running": True},
            next_steps=["kernel_status()"],
        )
        job.answer(self._refusal(error))

    async def _perform(self, job: Job, section: Section) -> None:
        """Run a job in a section that may be stopped; answer it outside, where nothing is cut."""
        try:
            if not job.begin():
                section.close()
                return
            if job.lane == "main":
                self._start_clock(job)
            job.run_in(section)
            try:
                section.resume()
                reply = await self._reply_to(job)
            finally:
                section.live = False
                section.close()
        except _STOPS as error:
            section.close()
            reply = self._stopped(job, error)
        except Exception:  # noqa: BLE001  the last border: a caller is answered even then, without data
            reply = error_reply(
                RequestError("internal", f"{job.op.name}: no answer could be made.")
            )
        job.answer(reply)

    async def _reply_to(self, job: Job) -> Reply:
        try:
            args = {**job.args, **({job.op.context: job.call} if job.op.context else {})}
            value = job.op.fn(**args)
            if hasattr(value, "__await__"):
                value = await value
            return self._package(job, value)
        except ReplPairError as error:
            return self._refusal(error, job)
        except _STOPS as error:
            return self._stopped(job, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  an op of the user's may raise anything
            return self._refusal(_defect(job, error), job)

    def _stopped(self, job: Job, error: BaseException) -> Reply:
        stop = stop_of(error)
        code = "deadline" if stop.status == "error" else "cannot_run"
        return self._refusal(RequestError(code, f"{job.op.name}: {stop.reason}"), job)

    def _package(self, job: Job, value: Any) -> Reply:
        call = job.call
        learn_secrets()
        out = egress.send_out(
            value,
            sensitive=call.sensitive,
            limits=_with_room(call.room),
            keep=lambda whole: HANDLES.keep(whole, call.view.principal),
            request=[job.args, *call.asked],
        )
        return ok_reply(
            call.fill(out.value),
            boot=self.boot,
            seq=STORE.seq,
            redacted=out.redacted,
            elided=out.elided,
            notifications=_clean(call.notifications),
            next_steps=_clean(call.next_steps[:3]),
        )

    def _refusal(self, error: ReplPairError, job: Job | None = None) -> Reply:
        learn_secrets()
        reply = error_reply(error, boot=self.boot, seq=STORE.seq)
        if job is not None and job.call.next_steps and not error.next_steps:
            reply["next_steps"] = job.call.next_steps[:3]
        out = egress.send_out(reply, request=None if job is None else job.args)
        sent: Any = out.value
        return sent | ({"redacted": out.redacted} if out.redacted else {})

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


def _clean(sentences: list[str]) -> list[str]:
    return [NEEDLES.scrub(sentence)[0][:SENTENCE_CHARS] for sentence in sentences]


def _with_room(room: int) -> egress.Limits:
    usual = egress.Limits()
    return replace(usual, width=max(usual.width, room), text=max(usual.text, room))


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


def _told(call_id: str, message: str, since: float) -> dict[str, Any]:
    """Give the content of a progress message; its text goes through the walker like any other."""
    learn_secrets()
    said = egress.send_out(message).value
    return {"call": call_id, "message": said, "elapsed_s": round(time.monotonic() - since, 3)}


def _defect(job: Job, error: BaseException) -> RequestError:
    return RequestError(
        "internal",
        f"{job.op.name} failed: {type(error).__name__}: {error}",
        detail={"thread": threading.current_thread().name},
    )
