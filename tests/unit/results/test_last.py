"""The last results of a variant: one for all, and beside it what agents tried."""

import pytest

from repl_pair.runtime.results.last import forget_result, keep_result, last_result
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.surface import STORE
from repl_pair.wire import PERSON


def keep(status, asked_by=None):
    keep_result(RunRecord(variant_id="shop/A", status=status, asked_by=asked_by))


def seen():
    """Return the last status for two agents and the person."""
    runs = [last_result("shop/A", name) for name in ("ann", "ben", PERSON)]
    return [run and run.status for run in runs]


def test_a_what_if_run_is_the_last_one_for_its_agent_until_a_run_for_all():
    keep("pass")
    keep("fail", "ann")
    assert seen() == ["fail", "pass", "fail"]
    keep("error", "ben")
    assert seen() == ["fail", "error", "error"]
    keep("cannot_run", "ann")
    assert seen() == ["cannot_run", "error", "cannot_run"]
    keep("pass")
    assert seen() == ["pass"] * 3
    assert last_result("shop/A").earlier == ()


def test_no_more_is_kept_than_one_run_of_each_agent_and_one_for_all():
    keep("pass")
    for _ in range(5):
        for name in ("ann", "ben"):
            keep("fail", name)
    latest = last_result("shop/A")
    assert [run.asked_by for run in (latest, *latest.earlier)] == ["ben", "ann", None]
    assert [run.earlier for run in latest.earlier] == [(), ()]


@pytest.mark.parametrize(
    ("name", "left"), [("ann", [None, "error", "error"]), (PERSON, [None, None, None])]
)
def test_an_agent_forgets_what_it_may_read_and_the_person_all(name, left):
    keep("pass")
    keep("fail", "ann")
    keep("error", "ben")
    forget_result("shop/A", name)
    forget_result("shop/Never_run", name)
    assert seen() == left


def test_a_run_that_another_agent_ends_meanwhile_is_not_lost(monkeypatch):
    put = STORE.put

    def late(*place, **over):
        monkeypatch.undo()
        keep("error", "ben")
        return put(*place, **over)

    monkeypatch.setattr(STORE, "put", late)
    keep("fail", "ann")
    assert seen() == ["fail", "error", "fail"]
