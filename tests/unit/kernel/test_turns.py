"""The person goes first: agents that leave no pause rest while a cell needs the interpreter."""

import pytest

from repl_pair.runtime.kernel import turns
from repl_pair.runtime.kernel.turns import CROWDED_S, NAP_S, RECENT_S, Throttle


class World:
    """The time of this test, and what the person does meanwhile."""

    current = None
    ended = None

    def __init__(self):
        self.now, self.naps = 100.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.naps.append(seconds)

    def idle_s(self):
        return None if self.ended is None else self.now - self.ended


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(turns, "time", world)
    monkeypatch.setattr(turns, "monotonic", world.monotonic)
    monkeypatch.setattr(turns, "CELLS", world)
    return world


def ask_again(world, after_s):
    agents = Throttle()
    agents.give_way()
    agents.note_answer()
    world.now += after_s
    agents.give_way()
    return world.naps


def test_a_request_right_behind_an_answer_waits_while_a_cell_runs(world):
    world.current = "the cell"
    assert ask_again(world, CROWDED_S / 2) == [NAP_S]


def test_a_request_after_a_pause_never_waits(world):
    world.current = "the cell"
    assert ask_again(world, CROWDED_S * 1.1) == []


def test_nobody_waits_in_a_kernel_where_no_cell_ran(world):
    assert ask_again(world, 0.0) == []


@pytest.mark.parametrize(("ago_s", "naps"), [(RECENT_S / 2, [NAP_S]), (RECENT_S * 2, [])])
def test_the_next_cell_is_expected_for_a_moment_only(world, ago_s, naps):
    world.ended = world.now - ago_s
    assert ask_again(world, 0.0) == naps
