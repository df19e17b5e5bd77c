"""What `show` shows: the registries, a story, a run; the same each time and without secrets."""

from typing import Annotated

import pytest

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import RequestError


@pytest.fixture
def shop():
    @repl_pair.story("shop.sum", args={"a": 1})
    def add(a: int, pin: Annotated[str, Sensitive] = "0000") -> int:
        """Adds | one."""
        return a + 1

    repl_pair.variant("shop.sum/Right", play=[check.path_equals("result", 2)])
    repl_pair.variant("shop.sum/Wrong", args={"a": 2}, play=[check.path_equals("result", 4)])
    repl_pair.variant("shop.sum/Pin", args={"pin": "7391"}, play=[["path_equals", "args.pin", "1"]])


def test_nothing_registered_says_how_to_begin():
    assert "Register a story" in repl_pair.show()


def test_all_stories_stand_with_their_last_statuses(shop):
    head = "| story |  | variants | last |\n| --- | --- | --- | --- |\n"
    assert repl_pair.show() == head + "| `shop.sum` | Adds \\| one. | 3 | 3 not run |"
    repl_pair.run("shop.sum/Right")
    repl_pair.run("shop.sum/Wrong")
    seen = repl_pair.show()
    assert seen == head + "| `shop.sum` | Adds \\| one. | 3 | 1 fail, 1 not run, 1 pass |"
    assert seen._repr_markdown_() == seen


def test_a_variant_is_run_and_its_assertions_told(shop):
    assert (
        repl_pair.show("shop.sum/Wrong")
        == """\
`shop.sum/Wrong` **fail**, 1 assertions

path_equals: result: expected 4, got 3

|  | assertion | expected | actual |
| --- | --- | --- | --- |
| FAIL | `path_equals result` | 4 | 3 |"""
    )


def test_a_story_shows_its_documentation(shop):
    assert repl_pair.show("shop.sum") == repl_pair.docs("shop.sum")


def test_a_secret_is_told_as_such(shop):
    seen = repl_pair.show("shop.sum/Pin")
    assert "7391" not in seen
    assert "[redacted]" in seen


def test_an_unknown_id_is_refused_with_the_nearest(shop):
    with pytest.raises(RequestError, match=r"shop\.sum/Right"):
        repl_pair.show("shop.sum/Rigth")


def test_a_shared_url_opens_the_variant_as_it_was_shared(shop):
    url = repl_pair.share("shop.sum/Right", overrides={"a": 4}).url
    seen = repl_pair.show(f"{url}&overrides=x&tab=nowhere")
    assert "Dropped from the URL: tab" in seen
    assert "| FAIL | `path_equals result` | 2 | 5 |" in seen


def test_a_url_without_a_variant_is_refused(shop):
    with pytest.raises(RequestError, match="names no variant: share one"):
        repl_pair.show("repl-pair:notebook?tab=docs")
