"""A ref to a pytest fixture is data like any ref; only a run under pytest resolves it."""

import pytest

import repl_pair
from repl_pair import check
from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.fixtures import fixtures_from, fixtures_in
from repl_pair.runtime.values.frozen import Ref


@pytest.fixture(autouse=True)
def _registries_as_before():
    undo = repl_pair.registry.checkpoint()
    yield
    undo()


def rows(db: object, deep: list[object] = ()) -> object:
    return db


def register(**args):
    repl_pair.story("fixed.rows", component=rows)
    play = [check.path_equals("result", "the real one")]
    return repl_pair.variant("fixed.rows/One", args=args, play=play)


def test_a_fixture_is_a_ref_that_names_it():
    assert repl_pair.fixture("db") == Ref("pytest/fixture", {"name": "db"})
    entry = repl_pair.registry.get("loader", "pytest/fixture")
    assert entry.origin.key == "builtin"


@pytest.mark.parametrize("name", ["", "two words", "a-b", 3, None])
def test_what_is_no_name_of_a_fixture_is_refused(name):
    with pytest.raises(AuthoringError, match="fixture takes a fixture's name: 'db'"):
        repl_pair.fixture(name)


def test_a_run_elsewhere_cannot_be_run_and_states_what_to_do():
    record = repl_pair.run(register(db=repl_pair.fixture("db")))
    assert record.status == "cannot_run"
    assert record.reason.startswith("'db' is a pytest fixture")
    assert "pytest" in record.reason
    assert "repl_pair.ref" in record.reason


def test_a_run_that_is_given_fixtures_gets_the_value_itself():
    id = register(db=repl_pair.fixture("db"))
    with fixtures_from({"db": "the real one"}.__getitem__):
        assert repl_pair.run(id).status == "pass"
    assert repl_pair.run(id).status == "cannot_run"


def test_the_identity_reports_one_fixture_from_another_and_not_who_runs_it():
    def hash_of(name):
        return repl_pair.snapshot_identity(register(db=repl_pair.fixture(name))).content_hash

    one, other = hash_of("db"), hash_of("db_two")
    with fixtures_from({"db": "x"}.__getitem__):
        assert hash_of("db") == one
    assert one != other


def test_the_data_form_states_which_fixture_and_reads_back():
    register(db=repl_pair.fixture("db"), deep=[repl_pair.fixture("other")])
    data = repl_pair.to_data("variant", "fixed.rows/One")
    assert "pytest/fixture" in str(data)
    body = repl_pair.registry.get("variant", "fixed.rows/One").body
    assert fixtures_in(body.args) == ("db", "other")


def test_without_a_fixture_there_is_no_loader_for_one():
    assert repl_pair.registry.find("loader", "pytest/fixture") is None
    assert fixtures_in({"a": 1}) == ()
