"""The third cell of the person: reports what of the kernel a refused call may not have changed."""

import json
import os
import socket
import sys
import threading
import time
import types
from contextlib import suppress
from pathlib import Path

import repl_pair as rp
from __main__ import STATE_AT, VALUES
from repl_pair.errors import RequestError
from repl_pair.runtime.clients.activity import KEPT, LOG
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.project.database import project
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.review.annotations import create_annotation
from repl_pair.runtime.review.reviews import submit_review
from repl_pair.runtime.running.openings import _OPENINGS
from repl_pair.runtime.store import PERSON_STORE, STORE
from repl_pair.runtime.sweeps.watching import WATCHES
from repl_pair.wire import View

LIVE = "attack.job/Plain"
BOUND_S = 50.0
"""How long a call that was answered may go on: less than the attack waits for any answer."""
UNENDED: set[Job] = set()
"""The calls that change something or run code, from their begin to their end, which may come after
their answer: a run that was stopped is answered where it does not end at once."""


def ids() -> dict[str, list[str]]:
    """Return the ids of entries that a person may have said to an agent; none that is kept."""
    view = View(principal="agent")
    return {kind: list(visible_ids(view, kind)) for kind in rp.registry.kinds}


def follow_calls() -> None:
    """Keep `UNENDED`."""
    whole = Job.begin

    def begin(job: Job) -> bool:
        if job.op.access not in ("read", "inspect"):
            UNENDED.add(job)
            job.at_end(lambda: UNENDED.discard(job))
        return whole(job)

    Job.begin = begin


def going_on() -> list[str]:
    """Return what goes on for agents and may still change something."""
    watched = ["a watch"] if WATCHES._running or WATCHES._checks.is_running else []
    return sorted(job.op.name for job in list(UNENDED)) + watched


def picture() -> dict[str, str]:
    """Return what a refused call, or one that reads, leaves as it was; by part, as text.

    What earlier calls began has ended by then, or is named under `calls`.
    """
    until = time.monotonic() + BOUND_S
    while going_on() and time.monotonic() < until:
        time.sleep(0.001)
    names = {n: v for n, v in list(vars(sys.modules["__main__"]).items()) if n[:1] != "_"}
    kept = {n: v for n, v in names.items() if not isinstance(v, types.ModuleType)}
    data = (str, int, float, list, tuple, dict, set)
    shown = {
        n: repr(v) if n[:2] == "v_" and isinstance(v, data) else id(v) for n, v in kept.items()
    }
    results = {} if WATCHES._watches else STORE.snapshot(RESULTS.name)
    return {
        "registry": str(rp.registry.revision),
        "live": repr([(key, one.is_open) for key, one in _OPENINGS.items()]),
        "state": repr(live.result),
        "watches": repr(sorted((w.owner, w.what) for w in WATCHES._watches.values())),
        "results": repr({key: id(record) for key, record in results.items()}),
        "names": repr(shown),
        "environment": repr(sorted(os.environ.items())),
        "remarks": repr(remarks()),
        "process": repr((os.getcwd(), sys.path, id(sys.stdout), id(sys.stderr))),
        "calls": repr(going_on()),
    }


TABLES = ("reviews", "annotations")


def remarks() -> list[list[tuple]]:
    """Return all that is kept of reviews and remarks."""
    with project().reading() as connection:
        return [
            list(map(tuple, connection.execute(f"SELECT * FROM {table} ORDER BY id")))
            for table in TABLES
        ]


def remark() -> list[list[tuple]]:
    """Remark in secrets on a page and a variant full of them; return what is kept of that."""
    secrets = [value() for value in VALUES.values()]
    lines = [f"plain {secret}" for secret in secrets]
    Path("attack.md").write_text("\n\n".join(["# Plain", *lines, f"## Key {secrets[0]}"]))
    for target in ("doc:attack.md", "variant:attack.show/Plain"):
        for secret in secrets[:6]:
            create_annotation(
                project(), View(), target=target, content=f"plain {secret}", quote=secret
            )
    submit_review(project(), View(), "doc:attack.md")
    create_annotation(project(), View(), target="doc:attack.md", content="plain draft")
    return remarks()


def remark_again() -> None:
    """Put back what the person remarked, in the place of all that is there now."""
    with project().writing() as connection:
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table}")
        for table, rows in zip(TABLES, REMARKED, strict=True):
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


ENDED: set[str | None] = set()
"""The handles of approved calls that were answered."""


def unended() -> list[str]:
    """Deny what waits for the person, and end watches; return what goes on nevertheless."""
    for watch in list(WATCHES._watches.values()):
        WATCHES.end(watch.owner, None)
    for one in list(PERSON_STORE.snapshot("approvals").values()):
        if one.state in ("pending", "approved"):
            with suppress(RequestError):  # its client withdrew it, or used it
                QUEUE.answer(one.handle, "deny")
    ENDED.update(a.approval for a in LOG.latest(KEPT) if a.state != "running")
    asked = PERSON_STORE.snapshot("approvals").values()
    made = {a.handle for a in asked if a.state == "used" and TABLE.get(a.op)}  # not by the server
    return sorted(made - ENDED) + going_on()


def begin() -> None:
    """Begin anew: nothing of the agents', one live object and some remarks of the person's."""
    global live
    remark_again()
    rp.undo_agent()
    rp.resume()
    if live is None or not live.is_open:
        live = rp.live(LIVE)


def serve() -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(STATE_AT)
    listening.listen()
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile("rwb") as lines:
            for _ in lines:
                lines.write(json.dumps(picture()).encode() + b"\n")
                lines.flush()


REMARKED = remark()
live = None
follow_calls()
begin()
threading.Thread(target=serve, daemon=True).start()
