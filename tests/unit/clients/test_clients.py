"""Who holds a kernel, and when somebody's process is taken to have ended."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from repl_pair.errors import KernelError, RequestError
from repl_pair.runtime.clients.clients import (
    ATTACHED,
    REMEMBERED_CALLS,
    Boot,
    Client,
    Clients,
    has_ended,
    this_process,
)
from repl_pair.runtime.store import Store

HERE = Client(id="here", principal="agent", **this_process())


@pytest.fixture
def child():
    """A process that lives until its stdin ends."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.stdin.close()
    process.wait()


def client_of(process):
    """Return a client as that process would describe itself."""
    slots = this_process()
    slots["started"] = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    return Client(id="child", principal="agent", **slots | {"pid": process.pid})


def wait_for_zombie(process):
    until = time.monotonic() + 10.0
    while ") Z" not in Path(f"/proc/{process.pid}/stat").read_text():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_this_very_process_lives():
    assert HERE.pid == os.getpid()
    assert not has_ended(HERE)


def test_a_killed_process_has_ended_even_before_its_parent_has_waited_for_it(child):
    client = client_of(child)
    assert not has_ended(client)
    child.kill()
    wait_for_zombie(child)
    assert has_ended(client)
    child.wait()
    assert has_ended(client)


def test_a_later_process_of_the_same_pid_is_another():
    assert has_ended(replace(HERE, started="1"))
    assert not has_ended(replace(HERE, started=None))


def test_what_runs_elsewhere_is_taken_to_live():
    assert not has_ended(replace(HERE, pid=2**22 + 1, place="another machine"))
    assert has_ended(replace(HERE, pid=2**22 + 1))


@pytest.fixture
def store():
    store = Store()
    store.declare(ATTACHED)
    return store


def test_clients_that_ended_are_forgotten_when_somebody_counts(child, store):
    clients = Clients(store)
    clients.add(HERE)
    clients.add(client_of(child))
    assert [client.id for client in clients.present()] == ["here", "child"]
    child.kill()
    child.wait()
    assert clients.present() == [HERE]
    assert not clients.is_unused()
    clients.remove("here")
    assert clients.is_unused()


def test_who_follows_is_reported_of_those_who_come_and_go(store):
    seen = []
    store.subscribe(lambda _change: seen.append(list(store.snapshot(ATTACHED.name))))
    clients = Clients(store)
    clients.add(HERE)
    clients.add(replace(HERE, id="other"))
    clients.remove("here")
    clients.remove("here")
    clients.forget()
    assert seen == [["here"], ["here", "other"], ["other"], []]
    assert clients.owners() == frozenset()


def test_a_person_who_holds_counts_and_one_who_refused_is_asked_first(store):
    clients = Clients(store)
    clients.allow()
    assert not clients.is_unused()
    clients.refuse()
    assert clients.is_unused()
    with pytest.raises(KernelError) as refused:
        clients.add(HERE)
    assert refused.value.code == "detached"
    assert clients.present() == []
    clients.forget()
    with pytest.raises(KernelError):
        clients.add(HERE)
    clients.allow()
    clients.add(HERE)
    assert clients.present() == [HERE]


def test_a_process_accepts_each_call_once_and_remembers_so_many():
    boot = Boot()
    boot.note_call("a")
    with pytest.raises(RequestError, match="Call a came twice; it ran once"):
        boot.refuse_repeated("a")
    boot.refuse_repeated("b")
    for number in range(REMEMBERED_CALLS):
        boot.note_call(str(number))
    boot.refuse_repeated("a")


def test_what_a_client_has_open_is_published_when_it_changes(store):
    clients = Clients(store)
    clients.add(HERE)
    for access in ({"read"}, {"read"}, {"read", "inspect"}):
        clients.note_access("here", frozenset(access))
    clients.note_access("nobody", frozenset({"read"}))
    clients.note_access(None, frozenset({"read"}))
    assert store.item(ATTACHED.name, "here").access == {"read", "inspect"}
    assert store.revision(ATTACHED.name) == 3
