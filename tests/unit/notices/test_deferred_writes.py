"""Changes of the project that wait, and a database that takes none for a while."""

import sqlite3

import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.errors import RequestError
from repl_pair.runtime.notices import deferred_writes
from repl_pair.runtime.notices.deferred_writes import LaterWrites
from repl_pair.runtime.project import opening
from repl_pair.runtime.store import STORE


@pytest.fixture
def locked(own_project, monkeypatch):
    """Locks the database, for which writers wait 10 ms; call it to unlock."""
    monkeypatch.setattr(opening, "BUSY_S", 0.01)
    monkeypatch.setattr(deferred_writes, "AGAIN_S", 0.01)
    with own_project.writing() as connection:
        connection.execute("CREATE TABLE kept (name)")
    own_project.close()
    other = sqlite3.connect(own_project.file)
    other.execute("BEGIN IMMEDIATE")
    yield other.rollback
    other.close()


def keep(name):
    return lambda connection: connection.execute("INSERT INTO kept VALUES (?)", (name,))


def kept(project):
    with project.reading() as connection:
        return sorted(name for (name,) in connection.execute("SELECT name FROM kept"))


def test_a_change_waits_for_a_database_that_is_locked_and_is_made_once(
    own_project, locked, monkeypatch
):
    monkeypatch.setattr(deferred_writes, "TRIES", 10**9)
    later = LaterWrites()
    for name in ("a", "b"):
        later.put(keep(name), key=name)
    with pytest.raises(RequestError) as refused:
        later.flush()
    assert refused.value.code == "cannot_run"
    with later._writing:  # none of them is just being tried
        later.put(keep("newer a"), key="a")
        locked()
    wait_until(lambda: len(kept(own_project)) == 2, what="both changes")
    later.flush()
    assert kept(own_project) == ["b", "newer a"]


def test_a_later_change_takes_the_place_of_one_that_is_just_being_tried(own_project, locked):
    locked()
    later = LaterWrites()

    def refuse(_connection):
        later.put(keep("newer a"), key="a")
        raise RequestError("cannot_run", "The database is locked.")

    later.put(refuse, key="a", within_s=BOUND_S)
    with pytest.raises(RequestError):
        later.flush()
    later.flush()
    assert kept(own_project) == ["newer a"]


def test_a_change_with_a_defect_is_raised_and_those_that_came_with_it_are_made(own_project, locked):
    locked()
    later = LaterWrites()
    later.put(keep("a"))
    later.put(lambda _connection: 1 / 0)
    later.put(lambda connection: connection.execute("INSERT INTO kept VALUES (1, 2)"))
    later.put(keep("b"))
    with pytest.raises((ZeroDivisionError, sqlite3.OperationalError)):
        later.flush()
    assert kept(own_project) == ["a", "b"]


def test_a_change_that_was_tried_too_often_is_reported_and_dropped(own_project, locked):
    later, reports = LaterWrites(), []
    undo = STORE.subscribe(lambda change: reports.append(change))
    later.put(keep("a"))
    wait_until(lambda: not later._thread.is_running, what="the end of its tries")
    undo()
    locked()
    later.flush()
    assert kept(own_project) == []
    assert [change.member for change in reports] == ["notices"]
