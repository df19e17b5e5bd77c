"""What looking for notices adds to a reply, and what counting in a work session adds to a run."""

import tempfile
import threading
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measure import AGENT, STORIES, Row, medians_ms, row, scaled

import repl_pair
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel import requests
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.lanes import LocalLanes
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.project import database
from repl_pair.wire import Reply, Request

REPLIES, RUNS = 1_500, 750
CLIENT = "bench"
NOT_LOOKED = "the same without looking for notices"
NOT_COUNTED = "the same without a session"


def figures() -> list[Row]:
    undo = repl_pair.registry.checkpoint()
    exec(STORIES, {"__name__": "bench_notices_stories"})
    try:
        with own_project(), serving() as ask:
            without_file = reply_row("a reply of list_variants, without a database", ask)
            ask("session_start")
            ask("session_stop")
            without_notices = reply_row("a reply of list_variants, without notices", ask)
            return [without_file, without_notices, run_row(ask)]
    finally:
        undo()


@contextmanager
def own_project() -> Generator[None]:
    """Let the project of this process be an empty folder during the block."""
    with tempfile.TemporaryDirectory() as folder:
        own = database.Database(Path(folder))
        with patch.object(database, "_open", [own]):
            yield
            LATER.flush()
            own.close()


@contextmanager
def serving() -> Generator[Callable[..., Reply]]:
    """Answer requests of one client in this process: `ask(op, **args)`."""
    host = Host(lanes=LocalLanes(), publish=lambda _event: None)

    def ask(op: str, **args: Any) -> Reply:
        request = Request(op=op, args=args, call=uuid.uuid4().hex, view=AGENT, client=CLIENT)
        answered, replies = threading.Event(), list[Reply]()

        def take(reply: Reply) -> None:
            replies.append(reply)
            answered.set()

        host.submit(request.to_wire(), take, lambda _progress: None)
        answered.wait()
        assert replies[0]["ok"], replies[0]
        return replies[0]

    try:
        yield ask
    finally:
        OWN_CALLS.end(lambda owner: owner == CLIENT)
        host.close()


def reply_row(what: str, ask: Callable[..., Reply]) -> Row:
    looking, silent = requests.REPLY_NOTICES, NoNotices()

    def reply_with(notices: Any) -> Callable[[], object]:
        def reply() -> None:
            requests.REPLY_NOTICES = notices
            ask("list_variants")

        return reply

    measured, base = both_ms(reply_with(looking), reply_with(silent), scaled(REPLIES, 2))
    requests.REPLY_NOTICES = looking
    return row(
        what, measured, "ms", baseline=base, baseline_what=NOT_LOOKED, budget="ratio <= 1.02"
    )


def both_ms(
    one: Callable[[], object], other: Callable[[], object], times: int
) -> tuple[float, float]:
    """Return the medians of two calls, each of which comes first as often as second."""
    first, second, third, fourth = medians_ms([one, other, other, one], times)
    return (first + fourth) / 2, (second + third) / 2


class NoNotices:
    """Stands in the place of `REPLY_NOTICES` and does nothing."""

    def follow(
        self, _request: Request, answer: Callable[[Reply], None], _is_awaited: Callable[[], bool]
    ) -> Callable[[Reply], None]:
        return answer


def run_row(ask: Callable[..., Reply]) -> Row:
    variant = {"variant_id": "shop.total/Of_3"}
    counting, idle = requests.OPEN, type(requests.OPEN)()
    ask("session_start")

    def run_with(sessions: Any) -> Callable[[], object]:
        def run() -> None:
            requests.OPEN = sessions
            ask("run_variant", **variant)

        return run

    measured, base = both_ms(run_with(counting), run_with(idle), scaled(RUNS, 2))
    requests.OPEN = counting
    return row(
        "a run_variant that a session counts",
        measured,
        "ms",
        baseline=base,
        baseline_what=NOT_COUNTED,
        budget="ratio <= 1.05",
    )
