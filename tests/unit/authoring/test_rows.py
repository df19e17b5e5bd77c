"""Tables of variants: args, and what must follow from them."""

from typing import Annotated

import pytest

import repl_pair
from repl_pair import check, step
from repl_pair.errors import AuthoringError


def total(prices, rate=1):
    if not prices:
        raise ValueError("there is nothing to pay")
    return sum(prices) * rate


def body_of(id):
    return repl_pair.registry.get("variant", id).body


@pytest.fixture(autouse=True)
def shop():
    repl_pair.story("shop.total", component=total)
    repl_pair.story("shop.named", component=lambda *, prices, rate=1: total(prices, rate))


@pytest.mark.parametrize(
    ("row", "args", "play"),
    [
        (({"prices": [4]}, 4), {"prices": [4]}, [["result_equals", 4]]),
        ((([4], 2), 8), {"prices": [4], "rate": 2}, [["result_equals", 8]]),
        (([4], 4), {"prices": [4]}, [["result_equals", 4]]),
        (([4],), {"prices": [4]}, []),
        (([4], None), {"prices": [4]}, [["result_equals", None]]),
        (([], check.raises(ValueError)), {"prices": []}, [["raises", "ValueError"]]),
        (([4], [step.wait(0), ["no_secret"]]), {"prices": [4]}, [["wait", 0], ["no_secret"]]),
        # What only looks like a step, or a list of some, is what the result must equal.
        (([4], ["wait", 0]), {"prices": [4]}, [["result_equals", ["wait", 0]]]),
        (([4], [["no_secret"]]), {"prices": [4]}, [["result_equals", [["no_secret"]]]]),
        ({"args": {"prices": [1]}, "tags": ["slow"]}, {"prices": [1]}, []),
    ],
)
def test_a_row_is_the_args_and_what_must_follow(row, args, play):
    for rows in ({"It": row}, [row]):
        (handle,) = repl_pair.variants("shop.total", rows)
        assert (body_of(handle).args, list(body_of(handle).play)) == (args, play)


def test_a_row_whose_result_is_another_fails():
    repl_pair.variants("shop.total", {"Right": ([4], 4), "Wrong": ([4], 5)})
    found = [repl_pair.run(f"shop.total/{name}").status for name in ("Right", "Wrong")]
    assert found == ["pass", "fail"]


def slug(text, sep="-", **more):
    return text


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([("a b",), (("a b", "_"),), ("a b",), ("a b",)], ["a_b", "a_b-sep_", "a_b_2", "a_b_3"]),
        (
            [("",), ("-1",), ({},), ("x" * 41,), (["x"],)],
            ["text0", "text-1", "row2", "text3", "text4"],
        ),
        ([((3, 1.5),), ((None, True),), ("é",)], ["3-1.5", "None-True", "text_"]),
    ],
)
def test_the_args_name_the_rows_of_a_list(rows, names):
    repl_pair.story("shop.slug", component=slug)
    assert repl_pair.variants("shop.slug", rows) == [f"shop.slug/{name}" for name in names]


@pytest.mark.parametrize("name", ["password", "pin", "door"])
def test_no_secret_by_its_name_hint_or_value_is_in_the_name_of_a_row(name, monkeypatch):
    monkeypatch.setenv("DOOR_PASSWORD", "Hunter2 Correct!")

    def enter(user, password=None, pin: Annotated[str, repl_pair.Sensitive] = "", door=None):
        return user

    repl_pair.story("shop.enter", component=enter)
    rows = [({"user": "bob", name: "Hunter2 Correct!"},), ({"user": "al", name: "4711"},)]
    known, short = repl_pair.variants("shop.enter", rows)
    assert known == f"shop.enter/bob-{name}0"
    assert short == ("shop.enter/al-4711" if name == "door" else f"shop.enter/al-{name}1")


def test_a_function_is_made_a_story_by_its_name_once():
    for rows in ([("a", "a")], {"B": ("b", "b")}):
        repl_pair.variants(slug, rows)
    id = f"{__name__}.slug"
    assert repl_pair.registry.ids("variant", id) == [f"{id}/B", f"{id}/a"]


def test_a_story_that_a_table_made_stays_when_its_module_runs_again(module):
    source = "import repl_pair\ndef same(n): return n\nrepl_pair.variants(same, {'A': (1, 1)})"
    for _ in range(2):
        module("shop_tables", source)
        assert repl_pair.registry.ids("variant", "shop_tables") == ["shop_tables.same/A"]


def test_a_story_takes_a_table_too():
    repl_pair.story("shop.same", component=total, variants=[([4], 4)])
    assert body_of("shop.same/prices0").play == (["result_equals", 4],)


@pytest.mark.parametrize(
    ("story", "rows", "code", "words"),
    [
        ("shop.total", [([1], 2, 3)], "bad_body", "(args, expected), (args,) or"),
        ("shop.total", [([1],), ()], "bad_body", "variants[1]"),
        ("shop.total", {"A": ()}, "bad_body", "variant 'A': it is (args"),
        ("shop.total", [((1, 2, 3), 4)], "bad_body", "3 args for prices, rate"),
        ("shop.named", [((1,), 4)], "bad_body", "Give prices, rate by name, in a mapping"),
        ("shop.total", ["ab"], "bad_body", "not 'ab'"),
        ("shop.total", "ab", "bad_body", "a mapping of names or a list"),
        ("shop.total", {"A": {"plya": []}}, "bad_body", "Nearest: play"),
        ("shop.total", [({"price": [1]}, 1)], "bad_body", "no argument 'price'"),
        ("shop.totla", [], "not_found", "Nearest: shop.total"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(story, rows, code, words):
    with pytest.raises(AuthoringError) as refused:
        repl_pair.variants(story, rows)
    assert refused.value.code == code
    assert words in refused.value.message
