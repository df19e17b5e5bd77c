"""What `show` shows: the registries, a story, a run; the same each time and without secrets."""

from types import SimpleNamespace
from typing import Annotated

import pytest
from flushing import flush
from IPython.lib.pretty import pretty

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import RequestError
from repl_pair.panels import showing
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.markdown import Markdown


@pytest.fixture
def shop():
    @repl_pair.story("shop.sum", args={"a": 1})
    def add(a: int, pin: Annotated[str, Sensitive] = "0000") -> int:
        """Adds | one."""
        return a + 1

    repl_pair.variant("shop.sum/Right", play=[check.path_equals("result", 2)])
    repl_pair.variant("shop.sum/Wrong", args={"a": 2}, play=[check.path_equals("result", 4)])
    repl_pair.variant("shop.sum/Pin", args={"pin": "r7-w"}, play=[["path_equals", "args.pin", "1"]])


def test_nothing_registered_shows_how_to_begin():
    assert "Register a story" in repl_pair.show()


def test_what_is_no_id_is_refused_in_words():
    with pytest.raises(RequestError, match=r"show takes the id of a story, .* and no int"):
        repl_pair.show(5)


def test_all_stories_stand_with_their_last_statuses(shop):
    head = "| story |  | variants | last |\n| --- | --- | --- | --- |\n"
    assert repl_pair.show() == head + "| `shop.sum` | Adds \\| one. | 3 | 3 not run |"
    repl_pair.run("shop.sum/Right")
    repl_pair.run("shop.sum/Wrong")
    seen = repl_pair.show()
    assert seen == head + "| `shop.sum` | Adds \\| one. | 3 | 1 fail, 1 not run, 1 pass |"
    assert seen._repr_markdown_() == seen


def rate(n):
    return n


def net(n):
    return n + 1


def test_a_status_is_stale_once_what_the_component_calls_is_other_code(monkeypatch):
    @repl_pair.story("shop.rate")
    def total(n: int = 1) -> int:
        return rate(n)

    repl_pair.variant("shop.rate/One")
    repl_pair.variant("shop.rate/Two", args={"n": 2})
    repl_pair.run("shop.rate/One")
    repl_pair.run("shop.rate/Two")
    assert repl_pair.show().endswith("| 2 | 2 pass |")
    monkeypatch.setitem(globals(), "rate", net)
    assert repl_pair.show().endswith("| 2 | 2 pass (stale) |")
    repl_pair.run("shop.rate/Two")
    assert repl_pair.show().endswith("| 2 | 1 pass, 1 pass (stale) |")


def test_a_variant_is_run_and_its_assertions_listed(shop):
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


def test_a_secret_is_redacted(shop):
    seen = repl_pair.show("shop.sum/Pin")
    assert "r7-w" not in seen
    assert "[redacted]" in seen


def test_an_unknown_id_is_refused_with_the_nearest(shop):
    with pytest.raises(RequestError, match=r"shop\.sum/Right"):
        repl_pair.show("shop.sum/Rigth")


def test_a_shared_url_opens_the_variant_as_it_was_shared(shop):
    url = repl_pair.share("shop.sum/Right", overrides={"a": 4}).url
    seen = repl_pair.show(f"{url}&overrides=x&tab=nowhere")
    assert "Dropped from the URL: tab" in seen
    assert "| FAIL | `path_equals result` | 2 | 5 |" in seen


def test_a_shared_url_shows_what_text_cannot_show_of_it(shop):
    repl_pair.tag("slow")
    repl_pair.workspace("shop.panels/All", layout="grid", variants=["shop.sum/Right"])
    url = repl_pair.share("shop.sum/Right", workspace="shop.panels/All", tag_filter=["slow"]).url
    assert repl_pair.show(url) == (
        "Not shown here: workspace shop.panels/All: text holds the variant alone.\n"
        "Not shown here: tag_filter slow: text lists nothing that it would narrow.\n\n"
        + repl_pair.show("shop.sum/Right")
    )


def test_a_shared_url_opens_the_tab_that_it_names(shop):
    usual, docs = (repl_pair.share("shop.sum/Right", tab=tab).url for tab in ("test", "docs"))
    run = repl_pair.show("shop.sum/Right")
    assert repl_pair.show(usual) == run
    assert repl_pair.show(docs) == f"{run}\n\n{repl_pair.docs('shop.sum')}"


def test_a_url_that_names_nothing_to_open_is_refused():
    with pytest.raises(RequestError, match="names no variant and no workspace"):
        repl_pair.show("repl-pair:notebook?tab=docs")


def test_a_url_of_a_workspace_opens_it(shop):
    repl_pair.workspace("shop.panels/All", layout="grid", variants=["shop.sum/Right"])
    expected = repl_pair.show("repl-pair:notebook?workspace=shop.panels/All")
    assert expected == repl_pair.show("shop.panels/All")


def test_a_workspace_is_listed_by_its_variants_and_nothing_runs(shop):
    repl_pair.workspace("shop/Board", layout="variants_grid", story="shop.sum", doc="All of it.")
    repl_pair.run("shop.sum/Right")
    expected = """\
`shop/Board`

All of it.

| variant | last |
| --- | --- |
| `shop.sum/Pin` | not run |
| `shop.sum/Right` | pass |
| `shop.sum/Wrong` | not run |"""
    assert repl_pair.show("shop/Board") == expected


def test_a_panel_that_is_named_is_shown_as_its_own_text(shop):
    assert repl_pair.show(panel="agent") == "No agent called anything."
    assert repl_pair.show(panel="trace") == "Nothing has been run yet."
    assert "path_equals" in repl_pair.show("shop.sum/Right", panel="play")
    repl_pair.panel("acme", title="Acme", placement="right", render=lambda: "12 EUR")
    assert repl_pair.show(panel="acme") == "12 EUR"
    with pytest.raises(RequestError, match="acme"):
        repl_pair.show(panel="acmee")


def test_text_prints_as_it_is_with_what_steers_a_terminal_spelled_out(shop):
    assert pretty(repl_pair.show()) == repl_pair.show()
    assert pretty(Markdown("two\nlines \x1b[2J")) == "two\nlines <U+001B>[2J"


@pytest.fixture
def cell(monkeypatch):
    """The running cell of a notebook."""
    shell = SimpleNamespace(id="one", kernel=object(), execution_count=1, message="1")
    shell.get_parent = lambda: {
        "header": {"msg_id": shell.message},
        "metadata": {"cellId": shell.id},
    }
    monkeypatch.setattr(showing, "interactive_shell", lambda: shell)
    return shell


def test_an_unknown_panel_is_refused_before_the_variant_is_run(shop, cell):
    with pytest.raises(RequestError, match="nope"):
        repl_pair.show("shop.sum/Right", panel="nope")
    assert last_result("shop.sum/Right") is None


@pytest.mark.parametrize(("id", "again"), [("one", [True, True, False]), (None, [False] * 3)])
def test_a_cell_that_is_run_again_closes_what_it_showed_before(cell, id, again):
    cell.id = id
    shown = [repl_pair.show(), repl_pair.show(panel="trace")]
    cell.id, cell.message = "two", "2"
    shown.append(repl_pair.show(panel="trace"))
    cell.id, cell.message = id, "3"
    latest = repl_pair.show()
    assert flush(PANEL_THREAD)
    assert [widget.comm is None for widget in shown] == again
    assert [widget.layout.comm is None for widget in shown] == again
    assert latest.comm is not None
    for widget in (*shown, latest):
        widget.close()


def test_what_a_cell_shows_while_others_run_closes_nothing_that_it_showed(cell):
    shown = []
    for cell.execution_count in (1, 2):  # a cell that it runs itself, or that runs beside its task
        shown.append(repl_pair.show(panel="trace"))
    assert flush(PANEL_THREAD)
    assert None not in [widget.comm for widget in shown]
    for widget in shown:
        widget.close()
