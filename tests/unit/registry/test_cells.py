"""How the latest cells ended is remembered while cells are tracked, and only so many."""

from threading import Event, Thread
from types import SimpleNamespace

import pytest
from IPython.core.events import EventManager, available_events

from repl_pair.runtime.registry import cells, origin
from repl_pair.runtime.registry.cells import MAX_ENDED, CellTracker


@pytest.fixture
def shell(monkeypatch):
    shell = SimpleNamespace(execution_count=1)
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr(cells, "kernel_shell", lambda: shell)
    monkeypatch.setattr(cells, "known_shells", lambda: [shell])
    monkeypatch.setattr(origin, "interactive_shell", lambda: shell)
    return shell


def run(shell, *, success=True, kept=True):
    shell.execution_count += kept
    shell.events.trigger("pre_run_cell", SimpleNamespace(store_history=kept))
    result = None if success is None else SimpleNamespace(success=success, execution_count=1)
    shell.events.trigger("post_run_cell", result)


def test_a_cell_is_remembered_with_its_time_and_how_it_ended_until_the_last_undo(shell):
    tracker = CellTracker()
    undo = tracker.track()
    run(shell)
    run(shell, success=False)
    run(shell, success=None)  # an awaiting cell that was stopped
    assert {n: cell.succeeded for n, cell in tracker.ended.items()} == {1: True, 2: False, 3: False}
    assert all(cell.since > 0 and cell.seconds >= 0 for cell in tracker.ended.values())
    run(shell, success=False, kept=False)
    assert len(tracker.ended) == 3
    undo()
    assert tracker.ended == {}


def test_only_the_latest_cells_are_remembered(shell):
    tracker = CellTracker()
    undo = tracker.track()
    for _ in range(MAX_ENDED + 7):
        run(shell)
    assert [*tracker.ended] == list(range(8, MAX_ENDED + 8))
    undo()


def test_a_cell_that_began_before_is_not_remembered(shell):
    tracker = CellTracker()
    undo = tracker.track()
    shell.events.trigger("post_run_cell", SimpleNamespace(success=True, execution_count=1))
    assert tracker.ended == {}
    undo()


def test_a_cell_of_a_subshell_hides_no_cell_of_the_main_thread(shell):
    tracker, ends = CellTracker(), []
    undo = tracker.track()
    tracker.at_end(lambda: ends.append(1))
    go_on, began = Event(), Event()

    def run_beside():
        shell.events.trigger("pre_run_cell", SimpleNamespace(store_history=False))
        began.set()
        go_on.wait()
        shell.events.trigger("post_run_cell", SimpleNamespace(success=True, execution_count=9))

    subshell = Thread(target=run_beside)
    subshell.start()
    began.wait()
    run(shell)
    assert (len(tracker.ended), len(ends), tracker.current) == (1, 1, None)
    shell.events.trigger("pre_run_cell", SimpleNamespace(store_history=True))
    current = tracker.current
    go_on.set()
    subshell.join()
    assert tracker.current is current is not None
    undo()
