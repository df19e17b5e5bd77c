"""The kernel end of the link: gives each request its lane, answers it once, sends events."""

import os
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from repl_pair.errors import ReplPairError, RequestError, defect
from repl_pair.runtime.capture.own_threads import short_switch_interval
from repl_pair.runtime.clients.clients import BOOT, check_pause
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel.deadlines import GRACE_S, LATER_S, Deadlines
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.lanes import Lanes
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.op_base.call import caused_by
from repl_pair.runtime.op_base.modules import hold_modules
from repl_pair.runtime.op_base.table import steps_if_not_started
from repl_pair.runtime.secrets.known import within
from repl_pair.runtime.stopping.stop import (
    BY_THE_PERSON,
    STOPS,
    Section,
    Stop,
    stop_of,
    unstopped,
    while_live,
)
from repl_pair.runtime.store import STORE, Change
from repl_pair.version import VERSION
from repl_pair.wire import (
    PROTOCOL,
    EventContent,
    Greeting,
    OnReply,
    Reply,
    SendProgress,
    error_reply,
    monotonic,
)


class Host:
    """Answers requests in this process."""

    def __init__(self, *, lanes: Lanes, publish: Callable[[EventContent], None]) -> None:
        self.lanes = lanes
        self._jobs: dict[str, Job] = {}
        self._deadlines = Deadlines(
            blocked_by=lanes.blocked_by, give_up=self._answer_unbegun, answer_for=self._answer_for
        )
        self._unsubscribe = STORE.subscribe(lambda change: publish(event_content(change)))
        self._end_own_calls = OWN_CALLS.serve(self.submit)
        hold_modules()

    @property
    def works_beside(self) -> bool:
        """Return whether a call runs on a thread of its own, which no cell holds up."""
        return any(job.lane == "worker" for job in tuple(self._jobs.values()))

    def greeting(self) -> Greeting:
        """Describe this process to a client."""
        return {
            "boot": BOOT.id,
            "version": VERSION,
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "clock": monotonic(),
        }

    def submit(self, content: Mapping[str, Any], reply: OnReply, progress: SendProgress) -> None:
        """Accept a request and return at once; `reply` is called exactly once, on any thread."""
        answer = reply
        try:
            hold_modules()
            job = _requests().open_job(content, reply, progress)
            if job is None:
                return
            answer = partial(job.answer, not_started=True)
            job.at_answer(hold_modules)
            call_id = job.call.id
            self._jobs[call_id] = job
            job.at_answer(lambda: self._jobs.pop(call_id, None))
            self._deadlines.watch(job)
            getattr(self.lanes, job.lane)(job, self._perform)
        except Exception as error:  # noqa: BLE001  the caller must get an answer even then
            answer(refuse_defect(str(content.get("op")), error))

    def cancel(self, call_id: str) -> bool:
        """Stop a call; False if it is not in progress. No code of the person is interrupted."""
        job = self._jobs.get(call_id)
        if job is None:
            return False
        job.call.decide()
        job.call.is_awaited = False
        self._deadlines.stop(job, Stop("cannot_run", "cancelled by the caller"))
        refusal = RequestError("cancelled", "The caller cancelled the call.")
        job.answer(_packaging().refuse(refusal), not_started=True)
        return True

    def interrupt(self) -> None:
        """Stop the call that has the main lane, as the person, where no signal does that."""
        job = self.lanes.holder
        if job is not None:
            self._deadlines.stop(job, BY_THE_PERSON)

    def close(self, why: str = "repl_pair was closed") -> None:
        """Close the host; calls in progress are stopped, and answered with the reason `why`."""
        self._end_own_calls()
        self._unsubscribe()
        for call_id in list(self._jobs):
            self.drop(call_id, why)
        self.lanes.close()
        self._deadlines.close()
        LATER.close()

    def drop(self, call_id: str, why: str) -> None:
        """Stop a call and answer its caller at once with a refusal; what it returns is dropped."""
        job = self._jobs.get(call_id)
        if job is not None:
            job.call.decide()
            refusal = RequestError("cancelled", f"{job.op.name} was cancelled: {why}.")
            job.answer(_packaging().refuse(refusal))
            self._deadlines.stop(job, Stop("cannot_run", f"cancelled: {why}"))

    def _answer_unbegun(self, job: Job, reason: str) -> None:
        job.call.suggest("read_stacks")
        job.call.next_steps += steps_if_not_started(job.op.name, job.args)
        job.answer(self._unfinished_reply(job, Stop("cannot_run", reason)), not_started=True)

    def _answer_for(self, job: Job) -> None:
        stop = job.requested_stop
        is_replying = job.call.decided and (job.stopping_s or 0.0) < GRACE_S + LATER_S
        if stop is not None and not job.answered and not is_replying:
            job.call.suggest("kernel_status")
            job.answer(self._unfinished_reply(job, unstopped(stop)))

    def _unfinished_reply(self, job: Job, stop: Stop) -> Reply:
        try:
            with caused_by(job.call.cause):
                return _packaging().package_unfinished(job, stop)
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
            job.admit()
            with within(call.secrets), caused_by(call.cause):
                value = await (while_live(section, work) if op.stoppable else work())
            if op.access in ("read", "inspect"):
                check_pause(call.view)  # it may have waited, and is about what is there by now
        except ReplPairError as error:
            return _packaging().refuse(error, job=job)
        except STOPS as error:
            return _packaging().package_unfinished(job, stop_of(error))
        except BaseException as error:  # noqa: BLE001  an op of the user's may raise anything
            return _packaging().refuse(defect(op.name, error), job=job)
        return _packaging().package(job, value)


def refuse_defect(what: str, error: Exception) -> Reply:
    """Return the reply to a request on which this package failed, or which is none."""
    try:
        return _packaging().refuse(defect(what, error))
    except ImportError as missing:
        return error_reply(defect(what, missing), boot=BOOT.id)


EVENTS_PER_MESSAGE = 50
"""A loop of registrations becomes few messages, and none of them is large."""


class Outbox:
    """Accepts events on any thread and sends them, in order, on the thread of `schedule`."""

    def __init__(
        self,
        *,
        schedule: Callable[[Callable[[], None]], object],
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        self._schedule = schedule
        self._send = send
        self._waiting: list[EventContent] = []
        self._lock = threading.Lock()

    def put(self, event: EventContent) -> None:
        """Send an event with the next message."""
        with self._lock:
            self._waiting.append(event)
            is_first = len(self._waiting) == 1
        if is_first:
            self._schedule(self._flush)

    def _flush(self) -> None:
        with self._lock:
            events, self._waiting = self._waiting, []
        for first in range(0, len(events), EVENTS_PER_MESSAGE):
            self._send({"events": events[first : first + EVENTS_PER_MESSAGE]})


def event_content(change: Change) -> EventContent:
    """Return a change of the store as the content of an event."""
    return {
        "boot": BOOT.id,
        "seq": change.seq,
        "member": change.member,
        "change": change.change,
        "key": change.key,
        "revision": change.revision,
    }


@cache
def _requests():  # noqa: ANN202  the type of a module can only be inferred
    # The ops' schemas are read, and all that makes a call is imported, at the first request.
    with short_switch_interval():
        from repl_pair.runtime.kernel import requests

    return requests


def _packaging():  # noqa: ANN202  the type of a module can only be inferred
    # A quarter of what this package imports makes replies, and attaching makes none.
    from repl_pair.runtime.kernel import packaging

    return packaging
