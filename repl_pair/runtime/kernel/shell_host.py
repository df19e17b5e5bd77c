"""The host in a kernel that takes no handlers of ours: it answers inside silent executes."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from contextvars import copy_context
from typing import Any

from repl_pair.errors import KernelError, RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.capture import capture
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.kernel.between_cells import LastRequest, hold_hooks, keep_errors
from repl_pair.runtime.kernel.deadlines import STUCK
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.lanes import Perform, run_inline, run_on_thread
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.stopping.loops import drive, on_private_loop
from repl_pair.runtime.stopping.sections import SignalSection
from repl_pair.runtime.surface import STORE
from repl_pair.wire import MIME, Reply, View, error_reply

HOLD_S = 0.25
"""How long an execute waits for a worker; then the kernel is given back, and asked again."""
KEPT = 100
"""How many calls are kept for bridges that have not asked for their replies yet."""
SHOWN = 200
"""How many changes are told at once."""

Asked = Mapping[str, Any]
Said = dict[str, Any]


class ShellLanes:
    """Every lane begins inside an execute, on the main thread, so no cell of the person's runs."""

    def __init__(self) -> None:
        self._put_off: deque[tuple[Job, Perform]] = deque()
        self.thread: int | None = None
        """The thread of the execute that is answered."""

    def inline(self, job: Job, perform: Perform) -> None:
        """Run a job at once."""
        run_inline(job, perform)

    def worker(self, job: Job, perform: Perform) -> None:
        """Run a job on a thread of its own, which may outlast the execute."""
        run_on_thread(job, perform)

    def main(self, job: Job, perform: Perform) -> None:
        """Run a job at once; what it awaits runs on the private loop, for this one stands still.

        One from another thread, which no execute brought, waits for the next look.
        """
        if threading.get_ident() != self.thread:
            self._put_off.append((job, perform))
            return
        job.call.wait_for = on_private_loop
        section = SignalSection(None)
        try:
            drive(perform(job, section))
        finally:
            section.close()
            if section.left is None:
                job.end()
            else:
                STUCK.add(job)
                section.left.add_done_callback(lambda _result: job.end())

    def take_up(self) -> None:
        """Run one job that was put off."""
        if self._put_off:
            self.main(*self._put_off.popleft())

    def blocked_by(self, view: View) -> str | None:
        """Return None: what arrives here waits for nothing more."""
        return None

    def close(self) -> None:
        """Do nothing: there is no lane of its own."""


class _Under:
    """One request that was taken: its reply once there is one, what it told last."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.reply: Reply = {}
        self.told: dict[str, Any] | None = None

    def answer(self, reply: Reply) -> None:
        self.reply = reply
        self.answered.set()

    def tell(self, told: dict[str, Any]) -> None:
        self.told = told


class ShellHost:
    """Answers for one kernel, in the executes that bridges send; see `answer`.

    `why` says what keeps this kernel from taking handlers; `release` lets one client go and gives
    how many remain.
    """

    def __init__(self, shell: Any, why: str, release: Callable[[str], int]) -> None:
        self._why = why
        self.release = release
        self.last = LastRequest(shell)
        self.lanes = ShellLanes()
        self.host = Host(lanes=self.lanes, publish=lambda _event: None)
        with ExitStack() as undo:
            capture.install()
            undo.callback(capture.uninstall)
            undo.callback(CELLS.track())
            undo.callback(hold_hooks(shell, self.last))
            undo.callback(keep_errors(shell))
            undo.callback(_host.clear)
            self._undo = undo.pop_all()
        _host.append(self)

    def greeting(self) -> dict[str, Any]:
        """Say who answers here, that it answers on shell, and why."""
        return self.host.greeting() | {
            "ident": "",
            "channel": "shell",
            "why": self._why,
        }

    def take_out(self, why: str) -> None:
        """Take out what was put in; who waits for an answer is told why."""
        self.host.close(why)
        self._undo.close()


_host: list[ShellHost] = []
_under_way: dict[str, _Under] = {}


class Answer:
    """What an expression gives, as the one representation that we read."""

    def __init__(self, said: Said) -> None:
        # As text: what is no legal JSON to others, such as half of a surrogate pair, stays ours.
        self._text = json.dumps(said)

    def _repr_mimebundle_(self, **_wanted: Any) -> dict[str, str]:
        return {MIME: self._text}


def answer(asked: str) -> Answer:
    """Answer one question of a bridge's, as JSON both ways; for the main thread, in an execute.

    `{"do": "look", "since"}` gives `{"boot", "seq", "events"}`; `{"do": "take", "request"}` runs a
    request and gives `{"reply"}`, or `{"told"}` of one that goes on; `{"do": "collect", "call"}`
    asks for such a reply again.
    """
    question: Asked = json.loads(asked)
    for host in _host:
        host.lanes.thread = threading.get_ident()
    try:
        # A kernel keeps what an execute leaves in its context for the cells that follow.
        return Answer(copy_context().run(_DO[question["do"]], question))
    finally:
        for host in _host:
            host.last.restore()


def cancel(call_id: str) -> Answer:
    """Stop a call, and keep one that has not arrived yet from running; for any thread."""
    _under_way.pop(call_id, None)
    for host in _host:
        if not host.host.cancel(call_id):
            BOOT.note_call(call_id)
    return Answer({})


def leave(client_id: str) -> Answer:
    """Let one client go; gives the slots of the reply to LEAVE."""
    return Answer({"remaining_clients": _host[0].release(client_id) if _host else 0})


def _look(question: Asked) -> Said:
    if not _host:
        return {"boot": "", "seq": 0, "events": []}
    _host[0].lanes.take_up()
    since = question["since"]
    changes = [] if since is None else STORE.changes(since)[0][:SHOWN]
    boot = _host[0].host.boot
    events = [_event(boot, to_dict(change)) for change in changes]
    return {"boot": boot, "seq": STORE.seq, "events": events}


def _event(boot: str, change: Said) -> Said:
    return {"boot": boot} | {slot: change[slot] for slot in _EVENT}


_EVENT = ("seq", "member", "change", "key", "revision")


def _take(question: Asked) -> Said:
    if not _host:
        return {"reply": error_reply(_taken_out())}
    request: Asked = question["request"]
    call_id = str(request.get("call"))
    if len(_under_way) >= KEPT:
        del _under_way[next(iter(_under_way))]
    under = _under_way[call_id] = _Under()
    _host[0].host.submit(request, under.answer, under.tell)
    return _collect({"call": call_id})


def _collect(question: Asked) -> Said:
    under = _under_way.get(question["call"])
    if under is None:
        return {"reply": error_reply(RequestError("cancelled", "The call was given up."))}
    try:
        under.answered.wait(HOLD_S)
    except KeyboardInterrupt:
        pass  # the person's Stop is not meant for a worker
    if not under.answered.is_set():
        return {"told": under.told}
    _under_way.pop(question["call"], None)
    return {"reply": under.reply}


_DO: dict[str, Callable[[Asked], Said]] = {"look": _look, "take": _take, "collect": _collect}


def _taken_out() -> KernelError:
    return KernelError(
        "kernel_restarted", "repl_pair was taken out of this kernel since; nothing was run."
    )
