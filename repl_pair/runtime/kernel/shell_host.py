"""The host in a kernel that takes no handlers: it answers inside silent executes."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack
from contextvars import copy_context
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.capture import capture
from repl_pair.runtime.clients.clients import BOOT, CLIENTS
from repl_pair.runtime.kernel.between_cells import LastRequest, hold_hooks, keep_errors
from repl_pair.runtime.kernel.host import Host, event_content
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.lanes import Lanes, Perform, run_blocking
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.stopping.loops import on_private_loop
from repl_pair.runtime.store import STORE
from repl_pair.wire import MIME, Greeting, ProgressContent, Reply, error_reply

HOLD_S = 0.25
"""How long an execute waits for a worker before it returns; the bridge then asks again."""
KEPT = 100
"""How many calls are kept whose replies have not been collected."""
MAX_EVENTS = 200
"""How many events one answer holds."""

Question = Mapping[str, Any]


class ShellLanes(Lanes):
    """Every lane begins inside an execute on the main thread, while no cell runs.

    The thread of a worker may outlast the execute.
    """

    def __init__(self) -> None:
        super().__init__()
        self._deferred: deque[tuple[Job, Perform]] = deque()
        self.thread: int | None = None
        """The thread of the current execute."""

    def main(self, job: Job, perform: Perform) -> None:
        """Run a job at once; what it awaits runs on the private loop, since this loop is blocked.

        A job from another thread, which came with no execute, waits for the next `take_up`.
        """
        if threading.get_ident() != self.thread:
            self._deferred.append((job, perform))
            return
        run_blocking(job, perform, on_private_loop)

    def take_up(self) -> None:
        """Run one deferred job."""
        if self._deferred:
            self.main(*self._deferred.popleft())


class _Pending(Future[Reply]):
    """The reply of one accepted request, and its latest progress until then."""

    progress: ProgressContent | None = None

    def set_progress(self, progress: ProgressContent) -> None:
        self.progress = progress


class ShellHost:
    """Answers for one kernel, in the executes that bridges send; see `answer`.

    `why` is the reason why this kernel takes no handlers; `release` detaches one client and returns
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

    def greeting(self) -> Greeting:
        """Describe this kernel to a client: it answers on shell, and why."""
        return {**self.host.greeting(), "ident": "", "channel": "shell", "why": self._why}

    def take_out(self, why: str) -> None:
        """Remove what was installed; calls in progress are answered with the reason."""
        self.host.close(why)
        self._undo.close()


_host: list[ShellHost] = []
_pending: dict[str, _Pending] = {}


class Answer:
    """The value of an expression, as the one MIME type that the bridge reads."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        # As text, for it may hold what front ends take for invalid JSON: half a surrogate pair.
        self._text = json.dumps(content)

    def _repr_mimebundle_(self, **_wanted: Any) -> dict[str, str]:
        return {MIME: self._text}


def answer(question_json: str) -> Answer:
    """Answer one question of a bridge, as JSON both ways; on the main thread, in an execute.

    `{"do": "look", "since"}` gives `{"boot", "seq", "events"}`; `{"do": "take", "request"}` runs a
    request and gives `{"reply"}`, or `{"progress": …}` of one that runs on;
    `{"do": "collect", "call"}` asks for its reply again.
    """
    question: Question = json.loads(question_json)
    for host in _host:
        host.lanes.thread = threading.get_ident()
    try:
        # In a copy: what an execute sets in its context would stay for the cells that follow.
        return Answer(copy_context().run(_DO[question["do"]], question))
    finally:
        for host in _host:
            host.last.restore()


def cancel(call_id: str) -> Answer:
    """Stop a call, also one that has not arrived yet; for any thread."""
    _pending.pop(call_id, None)
    for host in _host:
        if not host.host.cancel(call_id):
            BOOT.note_call(call_id)
    return Answer({})


def leave(client_id: str) -> Answer:
    """Detach one client; the answer holds `remaining_clients`."""
    return Answer({"remaining_clients": _host[0].release(client_id) if _host else 0})


def _look(question: Question) -> dict[str, Any]:
    if not _host:
        return {"boot": "", "seq": 0, "events": []}
    _host[0].lanes.take_up()
    since = question["since"]
    changes = [] if since is None else STORE.changes(since)[0][:MAX_EVENTS]
    return {"boot": BOOT.id, "seq": STORE.seq, "events": list(map(event_content, changes))}


def _take(question: Question) -> dict[str, Any]:
    request: Question = question["request"]
    try:
        CLIENTS.check_attached(request.get("client"))
    except RequestError as error:
        return {"reply": error_reply(error)}
    call_id = str(request.get("call"))
    if len(_pending) >= KEPT:
        del _pending[next(iter(_pending))]
    pending = _pending[call_id] = _Pending()
    _host[0].host.submit(request, pending.set_result, pending.set_progress)
    return _collect({"call": call_id})


def _collect(question: Question) -> dict[str, Any]:
    pending = _pending.get(question["call"])
    if pending is None:
        return {"reply": error_reply(RequestError("cancelled", "The call was given up."))}
    try:
        wait([pending], HOLD_S)
    except KeyboardInterrupt:
        pass  # the person's interrupt is not meant for a worker
    if not pending.done():
        return {"progress": pending.progress}
    _pending.pop(question["call"], None)
    return {"reply": pending.result()}


_DO: dict[str, Callable[[Question], dict[str, Any]]] = {
    "look": _look,
    "take": _take,
    "collect": _collect,
}
