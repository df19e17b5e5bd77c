import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from repl_pair.runtime.secrets.places import secret_args, secret_results

SOURCE = """
from dataclasses import dataclass
from typing import Annotated, TypedDict
from repl_pair import Sensitive

class Login(TypedDict):
    user: str
    key: "Later"

class Tree(TypedDict):
    login: Login
    below: "list[Tree]"

def open_all(logins: list[Login], tree: Tree) -> dict[str, Login]: ...
"""


@pytest.fixture
def space() -> Iterator[dict[str, Any]]:
    module = ModuleType("late_hints")
    sys.modules["late_hints"] = module
    exec(SOURCE, module.__dict__)
    yield module.__dict__
    del sys.modules["late_hints"]


LOGIN = {"user": "ann", "key": "k-1"}
ARGS = {"logins": [LOGIN], "tree": {"login": LOGIN, "below": [{"login": LOGIN, "below": []}]}}


def test_what_a_hint_declares_is_found_in_each_part_as_soon_as_it_can_be_resolved(space):
    assert secret_args(space["open_all"], ARGS) == []
    assert secret_results(space["open_all"]) == []
    space["Later"] = space["Annotated"][str, space["Sensitive"]]
    assert secret_args(space["open_all"], ARGS) == [
        ("logins", "0", "key"),
        ("tree", "login", "key"),
        ("tree", "below", "0", "login", "key"),
    ]
    assert secret_results(space["open_all"]) == [("*", "key")]


def test_hints_that_hold_themselves_and_declare_nothing_have_no_secret_places(space):
    space["Later"] = str
    deep: dict[str, Any] = {"login": LOGIN, "below": []}
    for _ in range(40):
        deep = {"login": LOGIN, "below": [deep]}
    assert secret_args(space["open_all"], {"tree": deep}) == []
