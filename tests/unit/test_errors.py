"""What an error keeps as it goes to another process, and how its text is read."""

import copy
import pickle

import pytest

from repl_pair.errors import RequestError, VariantFailed, error_text, next_step


@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_is_whole_in_another_process(copied):
    error = RequestError(
        "not_found", "gone", detail={"a": 1}, next_steps=[next_step("list_tags")], hints=["b"]
    )
    for one in (error, VariantFailed("a: fail", {"status": "fail"})):
        found = copied(one)
        assert (type(found), str(found), vars(found)) == (type(one), str(one), vars(one))


def test_a_text_of_an_exception_that_is_no_plain_str_runs_no_more_code():
    class Text(str):
        def __bool__(self):
            raise ValueError

    class Odd(Exception):
        def __str__(self):
            return Text("odd")

    assert error_text(Odd()) == "Odd: odd"
