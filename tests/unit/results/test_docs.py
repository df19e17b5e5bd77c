from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.shared import GLOBAL_DECORATORS
from repl_pair.runtime.results.markdown import Markdown
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.store import STORE
from repl_pair.wire import REDACTED

READER = MarkdownIt("commonmark").enable("table")
PIN, PASSWORD = "pin-4711-zkQ8", "pw-0815-mVx3"


@dataclass
class Line:
    sku: str
    n: int = 1


def quote(
    lines: list[Line],
    rate: Annotated[float, "Units of | money"] = 1.0,
    kind: Literal["a", "b|c"] = "a",
    note: str = "",
    opt: int | None = None,
    pin: Annotated[str, Sensitive] = "",
    password: str = "unused",
):
    """Quote an order.

    # No heading
    """
    return {"total": sum(line.n for line in lines) * rate, "rest": [kind, note, opt, password]}


@pytest.fixture
def shop():
    repl_pair.tag("slow", doc="Takes a | while.")
    repl_pair.mode("eur", args={"rate": 2.0}, axis="currency", doc="Euro")
    repl_pair.decorator("loud", wrap=lambda component, level=1: component, doc="Says it\ntwice.")
    repl_pair.story(
        "shop.quote",
        component=quote,
        args={"note": "a|b`c<d>", "pin": PIN, "password": PASSWORD},
        argtypes={"rate": {"min": 0}, "note": {"doc": "Free text"}},
        tags=["test"],
        modes=["eur"],
        decorators=[["loud", {"level": 3}]],
    )
    repl_pair.variant(
        "shop.quote/One",
        args={"lines": [Line("a", 2)]},
        doc="One line.\n\nMore of it.",
        play=[check.path_equals("result.total", 2)],
    )
    repl_pair.variant(
        "shop.quote/Two",
        extends="shop.quote/One",
        tags=["!test", "slow"],
        plays={"first": [check.path_equals("result.total", 5)], "second": []},
    )


def rows_under(text, title):
    part = text.partition(f"## {title}\n\n")[2].partition("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("|")]


def cells(text):
    """Return the count of cells of each row of each table, by a reader of Markdown."""
    found = []
    for token in READER.parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            found[-1][-1] += 1
    return found


@pytest.mark.usefixtures("shop")
def test_a_story_is_reported_whole_and_the_same_each_time():
    text = repl_pair.docs("shop.quote")
    assert text == repl_pair.docs("shop.quote")
    head = "# shop.quote\n\nQuote an order.\n\n\\# No heading\n\nComponent: `"
    assert text.startswith(head)
    assert rows_under(text, "Args") == [
        "| arg | type | default | what it is |",
        "| --- | --- | --- | --- |",
        "| `lines` | array of object of sku, n | required |  |",
        '| `rate` | number | `1.0` | Units of \\| money `{"min": 0}` |',
        '| `kind` | "a" or "b\\|c" | `"a"` |  |',
        '| `note` | string | "a\\|b\\`c&lt;d>" | Free text |',
        "| `opt` | integer | optional |  |",
        f"| `pin` | string, secret | `{REDACTED}` |  |",
        f"| `password` | string, secret | `{REDACTED}` |  |",
    ]
    assert rows_under(text, "Tags")[2:] == ["| `test` | " + tag_doc("test") + " |"]
    assert rows_under(text, "Decorators") == [
        "| decorator | kind | args | what it does |",
        "| --- | --- | --- | --- |",
        '| `loud` | wrap | `{"level": 3}` | Says it twice. |',
    ]
    assert rows_under(text, "Modes")[2:] == ['| `eur` | currency | `{"rate": 2.0}` | Euro |']
    assert rows_under(text, "Variants") == [
        "| variant | what it shows | tags | extends | plays | last status | run it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| `One` | One line. | `test` |  |  | not run | `repl_pair.run('shop.quote/One')` |",
        "| `Two` |  | `slow` | `shop.quote/One` | `first`, `second` | not run | "
        "`repl_pair.run('shop.quote/Two')` |",
    ]


def tag_doc(tag):
    return repl_pair.registry.get("tag", tag).body.doc


@pytest.mark.usefixtures("shop")
def test_no_secret_stands_in_the_documentation_of_the_person_either():
    NEEDLES.add("needle-in-doc-77")
    repl_pair.variant("shop.quote/Odd", args={"lines": []}, doc="With needle-in-doc-77 | in it.")
    repl_pair.mode("keyed", args={"password": "pw-in-mode-1", "pin": "pin-in-mode-2"})
    repl_pair.story("shop.other", component=quote, modes=["keyed"])
    text = repl_pair.docs("shop.quote") + repl_pair.docs("shop.other")
    for secret in (PIN, PASSWORD, "needle-in-doc-77", "pw-in-mode-1", "pin-in-mode-2"):
        assert secret not in text
    assert f"With {REDACTED} \\| in it." in text


@pytest.mark.usefixtures("shop")
def test_the_last_status_states_whether_it_still_holds():
    def status(name):
        rows = rows_under(repl_pair.docs("shop.quote"), "Variants")
        return next(row for row in rows if f"`{name}`" in row.split("|")[1]).split(" | ")[-2]

    repl_pair.run("shop.quote/One")
    assert status("One") == "pass, 1 of 1 assertions"
    assert status("Two") == "not run"
    repl_pair.run("shop.quote/Two")
    assert status("Two") == "fail, 0 of 1 assertions"
    repl_pair.run("shop.quote/One", modes=["eur"])
    assert status("One") == "fail, 0 of 1 assertions [eur]"
    repl_pair.variant("shop.quote/One", args={"lines": [Line("b")]})
    assert status("One") == "pass, 1 of 1 assertions (stale: changed since)"
    assert status("Two") == "fail, 0 of 1 assertions (stale: changed since)"


@pytest.mark.usefixtures("shop")
def test_what_holds_for_all_stories_is_reported_with_each():
    repl_pair.global_args(rate=4.5, other=1)
    repl_pair.global_decorators("loud")
    try:
        text = repl_pair.docs("shop.quote")
    finally:
        repl_pair.global_args()
        STORE.set(GLOBAL_DECORATORS.name, GLOBAL_DECORATORS.default)
    assert "| `rate` | number | `4.5` |" in text
    assert "other" not in text
    assert len(rows_under(text, "Decorators")) == 4


ODD = st.text(max_size=20) | st.sampled_from(["a|b", "\\|", "`|`", "<td>|", "\n| x |", "[x]: y"])


@settings(max_examples=40, deadline=None)
@given(doc=ODD, note=ODD, words=ODD, status=ODD)
def test_no_text_of_the_persons_breaks_a_table(doc, note, words, status):
    undo = repl_pair.registry.checkpoint()
    repl_pair.tag("odd", doc=doc)
    repl_pair.mode("odd", args={"note": note}, axis=words, doc=words)
    repl_pair.story(
        "odd.one",
        component=quote,
        doc=doc,
        args={"note": note, "opt": None},
        tags=["odd"],
        modes=["odd"],
        argtypes={"note": words, "rate": {"doc": doc, "unit": words}},
    )
    repl_pair.variant("odd.one/A", doc=status, args={"lines": []})
    repl_pair.variant("odd.one/B", doc=words, plays={"p" + status: [], "x" + words: []})
    try:
        tables = cells(repl_pair.docs("odd.one"))
    finally:
        undo()
    assert [len(table) for table in tables] == [8, 2, 2, 3]
    assert all(len(set(table)) == 1 for table in tables)


@pytest.mark.usefixtures("shop")
def test_a_notebook_shows_it_as_markdown_and_an_unknown_story_is_refused():
    text = repl_pair.docs("shop.quote")
    assert isinstance(text, Markdown)
    assert text._repr_markdown_() == str(text)
    with pytest.raises(RequestError, match=r"Nearest: shop\.quote"):
        repl_pair.docs("shop.quotes")


def test_a_component_that_takes_anything_is_reported_with_what_its_story_gives():
    def anything(**more: Any):
        return more

    repl_pair.story("shop.any", component=anything, args={"size": {3, 1, 2}, "name": "x" * 500})
    text = repl_pair.docs("shop.any")
    assert "| `size` | anything | `[1, 2, 3]` |" in text
    assert "| any other |" in text
    assert len(text) < 1200
    assert "## Variants" not in text
