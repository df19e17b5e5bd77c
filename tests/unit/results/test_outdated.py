"""Last results whose code changed since, found while somebody follows that."""

import linecache
import sys
import threading
from types import ModuleType
from typing import Any

import pytest
from bounds import BOUND_S
from waiting import finish, wait_until

import repl_pair
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.changes import read_changes
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.outdated import OUTDATED, follow_code, is_outdated
from repl_pair.runtime.store import STORE
from repl_pair.wire import View


@pytest.fixture
def define():
    """Defines `price` anew, in a module of that name that stories are of."""
    module = sys.modules["prices"] = ModuleType("prices")
    names = []

    def write(body):
        names.append(name := f"<prices {len(names)}>")
        source = f"def price(n=1):\n    return {body}\n"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), vars(module))
        return module.price

    repl_pair.story("price", component=write("n"))
    for name in "AB":
        repl_pair.variant(f"price/{name}")
        assert repl_pair.run(f"price/{name}").status == "pass"
    yield write
    del sys.modules["prices"]
    for name in names:
        linecache.cache.pop(name)


@pytest.fixture
def undo_follow():
    undo = follow_code()
    yield undo
    undo()
    assert not CELLS._at_end
    wait_until(lambda: not threads(), "the end of the checks")


def threads():
    return [one for one in threading.enumerate() if one.name == "repl_pair worker outdated"]


def end_cell():
    for fn in list(CELLS._at_end.values()):
        fn()


def outdated():
    return [id for id in ("price/A", "price/B") if is_outdated(last_result(id))]


def test_code_that_changed_is_found_at_the_end_of_a_cell_and_no_registration_counts(
    define, undo_follow
):
    repl_pair.variant("price/B")  # registered again: stale without any check
    define("n + 1")
    end_cell()
    wait_until(lambda: outdated() == ["price/A"], "the check")


def test_code_as_it_was_and_a_new_run_are_current_again(define, undo_follow):
    define("n + 1")
    end_cell()
    wait_until(lambda: outdated() == ["price/A", "price/B"], "the check")
    assert repl_pair.run("price/B").status == "pass"
    assert not is_outdated(last_result("price/B"))
    define("n")
    end_cell()
    wait_until(lambda: outdated() == ["price/B"], "the next check")


def test_what_changed_before_anybody_followed_is_found_too(define):
    define("n + 1")
    undo = follow_code()
    wait_until(lambda: outdated() == ["price/A", "price/B"], "the check")
    undo()


def test_who_waits_for_changes_reads_that_code_changed(define):
    answers, call = list[Any](), Call(view=View(principal="agent"))
    since = STORE.seq
    waiting = threading.Thread(
        target=lambda: answers.append(finish(read_changes(call, since=since, wait_s=BOUND_S)))
    )
    waiting.start()
    wait_until(lambda: CELLS._at_end, "the begin of the wait")
    define("n + 1")
    end_cell()
    waiting.join()
    assert answers[0]["items"][0]["member"] == OUTDATED.name


def test_nothing_is_checked_once_the_last_follower_has_left(define, undo_follow):
    follow_code()()
    assert CELLS._at_end
    undo_follow()
    wait_until(lambda: not threads(), "the end of the checks")
    define("n + 1")
    end_cell()
    assert not threads()
    assert outdated() == []
