"""Turns of the interpreter lock while modules are imported beside code that loops."""

import sys

import pytest

from repl_pair.runtime.capture.own_threads import (
    SWITCH_INTERVAL_S,
    short_switch_interval,
    shorten_switch_interval,
)
from repl_pair.runtime.op_base.table import Table

LONG_S = 0.02


@pytest.fixture(autouse=True)
def long_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(LONG_S)
    yield
    sys.setswitchinterval(before)


def test_turns_are_short_during_the_block_and_as_before_after_it():
    with short_switch_interval():
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
        with short_switch_interval():
            assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


def test_turns_are_short_until_the_last_of_several_ends():
    first, second = shorten_switch_interval(), shorten_switch_interval()
    first()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
    second()
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


@pytest.mark.parametrize("interval", [0.01, 1e-6])
def test_turns_that_the_person_sets_meanwhile_stay(interval):
    with short_switch_interval():
        sys.setswitchinterval(interval)
    assert sys.getswitchinterval() == pytest.approx(interval)
    with short_switch_interval():
        assert sys.getswitchinterval() <= SWITCH_INTERVAL_S
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_code_that_restores_what_it_read_meanwhile_leaves_no_short_turns_behind():
    with short_switch_interval():
        read = sys.getswitchinterval()
    sys.setswitchinterval(read)
    with short_switch_interval():
        pass
    assert sys.getswitchinterval() == pytest.approx(LONG_S)


def test_the_module_of_an_op_is_imported_in_short_turns(tmp_path, monkeypatch):
    (tmp_path / "of_an_op.py").write_text("import sys\nturn_s = sys.getswitchinterval()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert Table({"late": "of_an_op"}).get("late") is None
    assert sys.modules["of_an_op"].turn_s == pytest.approx(SWITCH_INTERVAL_S)
    monkeypatch.delitem(sys.modules, "of_an_op")
