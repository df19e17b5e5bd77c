"""The names that sent code sees, and what became of the person's."""

import sys
import types

import pytest

from repl_pair.runtime.evaluation.spaces import MAX_NAMES, open_space


@pytest.fixture
def person(monkeypatch):
    """The person's namespace."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    names = vars(main)
    names.update(x=1, rows=[1], _=5, In=["", "a"], Out={1: 2}, _i1="a", _private=1)
    return names


def run(source, scope):
    space = open_space(scope)
    exec(source, space.globals, space.locals)
    space.put_back()
    return space


def test_what_is_assigned_to_a_copy_stays_there_and_what_is_mutated_is_mutated(person):
    before = person.copy()
    space = run("x = y = 2\ndel In\nrows.append(3)\ndef f(): return x, y\ngiven = f()", "scratch")
    assert person == before
    assert person["rows"] == [1, 3]
    assert space.changes() == {}
    assert space.assigned.keys() >= {"x", "y", "f", "given"}
    assert (space.locals["given"], "rows" in space.assigned) == ((2, 2), False)
    assert "y" not in open_space("scratch").globals


def test_what_is_assigned_in_the_persons_namespace_is_listed_by_name(person):
    space = run("y = 2\nx = 1.0\ndel rows\n_other = 3\nIn_ = 4", "user")
    assert space.changes() == {"added": ["In_", "y"], "changed": ["x"], "removed": ["rows"]}
    assert (person["y"], person["_other"]) == (2, 3)
    assert space.assigned == {}


def test_a_value_that_is_another_one_is_a_change_and_one_that_is_mutated_is_not(person):
    space = run("rows.append(2); x = x\n", "user")
    assert space.changes() == {}
    assert run("rows = list(rows)", "user").changes() == {"changed": ["rows"]}


@pytest.mark.parametrize("scope", ["scratch", "user"])
def test_the_shells_own_names_are_as_before(person, scope):
    before = {name: person[name] for name in ("_", "In", "Out", "_i1")}
    code = "for _ in range(3): __ = In = Out = 9\ndel _i1\n_ii = _17 = 4\nget_ipython = exit = 1"
    space = run(code, scope)
    assert {name: person[name] for name in before} == before
    assert person.keys().isdisjoint({"__", "_ii", "_17", "get_ipython", "exit"})
    assert space.changes() == {}


def test_what_the_persons_own_functions_set_is_listed_for_a_copy_too(person):
    exec("def count():\n    global x\n    x += 1", person)
    assert run("count()", "scratch").changes() == {"changed": ["x"]}
    assert person["x"] == 2


def test_the_names_that_are_listed_are_bounded_and_the_others_counted(person):
    space = run(f"globals().update({{f'n{{i:04}}': i for i in range({MAX_NAMES + 7})}})", "user")
    added = space.changes()["added"]
    assert (len(added), added[0], added[-1]) == (MAX_NAMES + 1, "n0000", "… 7 more")


def test_names_that_are_no_text_are_left_alone(person):
    space = run("globals()[7] = 1", "user")
    assert space.changes() == {}
    assert person.pop(7) == 1
