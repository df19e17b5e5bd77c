"""Processes that write annotations at once lose nothing; what was answered outlives kill -9."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.runtime.project import database as databases
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.project.schema import VERSION

TARGET = "doc:README.md"
WRITES = """
import asyncio, sys
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.runtime.project import opening

async def main(name, count):
    opening.BUSY_S = 60
    session = Session.direct(Policy(), principal=name)
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        args = {"target": "doc:README.md", "content": f"{name} has remark {n}"}
        reply = await session.call("create_annotation", args)
        assert reply["ok"], reply
        print(reply["result"]["id"])
    await session.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
EACH = 25
KILLS = 25


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "README.md").write_text("# Shop\n")
    return tmp_path


def read(root, query):
    with closing(sqlite3.connect(root / ".repl_pair" / "pair.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        return connection.execute(query).fetchall()


def test_four_processes_that_make_the_database_and_write_at_once_lose_nothing(root):
    pipe = subprocess.PIPE
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITES, f"agent-{n}", str(EACH)],
            cwd=root,
            stdin=pipe,
            stdout=pipe,
            text=True,
        )
        for n in range(4)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    answered = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    ids = {id for of_one in answered for id in of_one}
    assert len(ids) == 4 * EACH
    kept = read(root, "SELECT id, principal, content FROM annotations")
    assert {id for id, _, _ in kept} == ids
    assert len({(principal, content) for _, principal, content in kept}) == 4 * EACH


def test_what_was_answered_outlives_a_process_that_is_killed_at_any_moment(root, monkeypatch):
    monkeypatch.setattr(databases, "_open", [Database(root)])
    answered, chance = set(), random.Random(18)
    for _ in range(KILLS):
        arriving, sending = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(arriving)
            asyncio.run(write_threads(sending))
            os._exit(1)  # it writes until it is killed
        os.close(sending)
        with open(arriving, "rb") as lines:
            first = b"".join(lines.readline() for _ in range(chance.randint(1, 4)))
            signal.sigtimedwait((), chance.random() * 0.03)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            answered |= set(ids_in(first + lines.read()))
        kept = read(root, "SELECT id, parent_id, status FROM annotations")
        status = {id: status for id, _, status in kept}
        assert answered <= status.keys()
        parents = {parent for _, parent, _ in kept if parent}
        assert {status[parent] for parent in parents} <= {"replied"}, "half of a change"
    print(f"{KILLS} kills, {len(answered)} answered, {len(status) - len(answered)} more committed")
    assert len(answered) > KILLS


def ids_in(text):
    """Return the ids of whole lines."""
    return [line.split()[1].decode() for line in text.split(b"\n")[:-1]]


async def write_threads(sending):
    """Make remarks, each with a reply, and print the id of each once the call has returned."""
    session, n = Session.direct(Policy()), 0
    while True:
        parent = None
        for kind in ("remark", "reply"):
            n += 1
            args = {"target": TARGET, "content": f"{os.getpid()} has {kind} {n}"}
            args |= {"parent_id": parent} if parent else {}
            reply = await session.call("create_annotation", args)
            assert reply["ok"], reply
            parent = reply["result"]["id"]
            os.write(sending, f"{kind} {parent}\n".encode())
