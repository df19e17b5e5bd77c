"""Words of another type than a built-in assertion takes are refused in a sentence."""

from itertools import product

import pytest

import repl_pair
from repl_pair.errors import AuthoringError
from repl_pair.runtime.shipped import ASSERTIONS

ODD = [5, {"a": 1}, None, [], {}, "x", True, ("a",)]


@pytest.mark.parametrize("name", ASSERTIONS)
def test_no_word_makes_a_built_in_assertion_raise(name):
    repl_pair.story("odd", component=lambda: {"a": [1, 2]})
    ran, raised = 0, []
    for words in [*product(ODD), *product(ODD, ODD), *product(ODD, ["<"], ODD)]:
        try:
            repl_pair.variant("odd/It", play=[(name, *words)])
        except AuthoringError:
            continue
        ran += 1
        reason = repl_pair.run("odd/It").reason
        raised += [(words, reason)] if f"{name} raised" in reason else []
    assert ran > 0 or name in REFUSED
    assert raised == []


REFUSED = {"no_warnings", "no_secret"}
"""Those that take no words."""


def test_options_stand_also_where_a_word_before_them_is_left_out():
    repl_pair.story("odd", component=lambda: 3)
    with pytest.raises(AuthoringError, match="tolerance is a share from 0 to 1, not 7"):
        repl_pair.variant("odd/It", play=[("matches_snapshot", {"tolerance": 7})])
    repl_pair.variant("odd/It", play=[("matches_snapshot", {"tolerance": 0.5})])
    assert "there is no snapshot of odd/It yet" in repl_pair.run("odd/It").reason
