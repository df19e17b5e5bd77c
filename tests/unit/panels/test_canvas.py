"""The canvas without a browser: the focus, its outputs, and what it runs."""

import json
from typing import Annotated

import ipywidgets
import pytest
from flushing import flush

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOCUS, Focus, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.canvas.details import LONGEST_STREAM
from repl_pair.panels.canvas.summary import MAX_CARDS
from repl_pair.panels.canvas.view import CanvasView
from repl_pair.runtime.capture.comms import VIEW
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.last_results import last_result
from repl_pair.wire import REDACTED

SECRET = "kestrel-9931-orchid"
PNG = b"\x89PNG\r\n\x1a\n"


class Rich:
    def __init__(self, **forms):
        self.forms = forms

    def _repr_mimebundle_(self, **_):
        return self.forms


def add(a: int = 1, b: int = 2, token: Annotated[str, Sensitive] = "") -> int:
    """Add two numbers.

    And no more."""
    print("adding")
    return a + b


@pytest.fixture
def context(open_context):
    repl_pair.mode("ten", args={"b": 10}, axis="size", doc="Ten of them")
    repl_pair.mode("loose", args={"b": 3})
    repl_pair.story("shop.sum", component=add, args={"b": 5}, modes=["ten", "loose"])
    repl_pair.variant("shop.sum/One", args={"a": 1}, play=[check.result_equals(6)], doc="The one.")
    repl_pair.variant("shop.sum/Two", extends="shop.sum/One", args={"token": SECRET})
    return open_context(variant="shop.sum/One", story="shop.sum")


@pytest.fixture
def canvas(context, sent):
    made = CanvasView(context, sent.append)
    flush(PANEL_THREAD)
    undo = context.follow(made.handle_changes)
    sent.clear()
    yield made
    undo()
    made.close()


def run(variant="shop.sum/One", **given):
    return repl_pair.run(variant, **given)


def shows(context, value):
    """Run a variant whose component gives this value, and look at it."""
    repl_pair.story("shop.show", component=lambda: value)
    repl_pair.variant("shop.show/It")
    run("shop.show/It")
    context.set_focus(Focus(variant="shop.show/It"))


def test_the_head_describes_the_focus(canvas):
    head = dict(canvas.on_head())
    identity = head.pop("identity")
    assert identity["content"].startswith("rp1:")
    assert identity["code"]
    assert [each["id"] for each in head.pop("substrates")] == ["text", "html", "png", "widget"]
    assert head == {
        "kind": "variant",
        "id": "shop.sum/One",
        "doc": "The one.",
        "last": None,
        "modes": [
            {"id": "ten", "active": False, "known": True, "axis": "size", "doc": "Ten of them"},
            {"id": "loose", "active": False, "known": True, "axis": None, "doc": ""},
        ],
        "active": [],
        "running": False,
        "waits_for": "",
        "refusal": "",
        "edits": 0,
        "tab": "dev",
        "runs_on_select": False,
    }


def test_the_head_shows_how_the_last_run_ended_and_whether_it_still_counts(canvas, context):
    run()
    last = dict(canvas.on_head()["last"])
    assert last.pop("elapsed_ms") > 0
    assert last == {
        "status": "pass",
        "what_if": False,
        "reason": "",
        "total": 1,
        "passed": 1,
        "modes": [],
        "stale": False,
        "other": False,
        "asked_by": None,
    }
    canvas.on_modes(["ten"])
    assert canvas.on_head()["last"]["other"]
    assert canvas.on_head()["active"] == ["ten"]
    repl_pair.variant("shop.sum/One")
    assert canvas.on_head()["last"]["stale"]


def test_what_cannot_be_run_shows_why_before_it_is_run(canvas):
    repl_pair.mode("eleven", args={"b": 11}, axis="size")
    canvas.on_modes(["ten", "eleven"])
    assert "share the axis" in canvas.on_head()["refusal"]


def test_nothing_runs_by_being_in_focus(canvas, context):
    context.set_focus(Focus(variant="shop.sum/Two"))
    flush(PANEL_THREAD)
    assert context.running == {}
    assert last_result("shop.sum/Two") is None


def test_what_is_chosen_runs_where_that_was_asked_for(eventually, canvas, context):
    canvas.on_options(runs_on_select=True)
    context.set_focus(Focus(variant="shop.sum/Two"))
    eventually(lambda: last_result("shop.sum/Two") is not None)


def test_run_uses_modes_and_edits(eventually, canvas, context):
    context.set_focus(Focus(variant="shop.sum/One", modes=("ten",), overrides={"a": 7}))
    canvas.on_run("variant", "shop.sum/One")
    eventually(lambda: last_result("shop.sum/One") is not None)
    assert last_result("shop.sum/One").effective_args == {"a": 7, "b": 10}


@pytest.mark.parametrize(
    "drawn",
    [
        ("variant", "shop.sum/Two"),
        ("story", "shop.sum"),
        ("workspace", "shop.sum/One"),
        ("story", "shop.sum", "shop.sum/One"),
    ],
)
def test_a_run_of_what_is_in_focus_no_more_is_refused(canvas, context, drawn):
    with pytest.raises(RequestError, match=f"{drawn[1]} is not in focus any more"):
        canvas.on_run(*drawn)
    assert (context.running, context.batch.progress.total) == ({}, 0)


def test_a_result_that_is_no_rich_value_is_shown_as_data(canvas):
    run()
    assert canvas.on_output("shop.sum/One") == {
        "status": "pass",
        "reason": "",
        "outputs": [],
        "result": 6,
        "streams": [{"name": "stdout", "text": "adding\n", "left_out": 0}],
    }


def test_a_result_that_holds_a_secret_is_kept_without_it(canvas, context):
    repl_pair.story("shop.show", component=lambda token: {"token": token, "said": f"<{token}>"})
    repl_pair.variant("shop.show/It", args={"token": SECRET})
    run("shop.show/It")
    shown = {"token": "[redacted]", "said": "<[redacted]>"}
    assert canvas.on_output("shop.show/It")["result"] == shown


def test_before_the_first_run_there_is_no_output(canvas):
    assert canvas.on_output("shop.sum/One") is None
    assert canvas.on_phases("shop.sum/One") is None


@pytest.mark.parametrize(
    ("forms", "shown"),
    [
        (
            {"text/html": "<b>x</b>", "text/plain": "x"},
            {"text/html": "<b>x</b>", "text/plain": "x"},
        ),
        ({"image/svg+xml": "<svg/>"}, {"image/svg+xml": "<svg/>"}),
        ({"image/png": PNG}, {"image/png": "iVBORw0KGgo="}),
        (
            {"text/markdown": "**x** <i>y</i>"},
            {"markup": "<p><strong>x</strong> &lt;i&gt;y&lt;/i&gt;</p>\n"},
        ),
        (
            {VIEW: {"model_id": "m1"}, "text/plain": "W"},
            {"text/plain": "W", "widget": "m1", "models": ""},
        ),
        (
            {"text/latex": "$x$", "text/plain": "<IPython.core.display.Latex object>"},
            {"text/latex": "$x$", "text/plain": "$x$"},
        ),
        (
            {"application/json": {"a": [1]}, "text/plain": "<IPython.core.display.JSON object>"},
            {"text/plain": '{\n  "a": [\n    1\n  ]\n}'},
        ),
        (
            {"application/x-odd": object()},
            {"text/plain": "No part of this output can be shown here: application/x-odd."},
        ),
    ],
)
def test_each_kind_of_output_is_given_as_it_can_be_shown(canvas, context, forms, shown):
    shows(context, Rich(**forms))
    assert canvas.on_output("shop.show/It")["outputs"] == [shown]


def test_a_widget_of_a_run_is_given_as_it_was_at_the_end(canvas, context):
    def box(token: Annotated[str, Sensitive]):
        return ipywidgets.VBox([ipywidgets.IntText(value=5), ipywidgets.Text(value=token)])

    repl_pair.story("shop.show", component=box)
    repl_pair.variant("shop.show/It", args={"token": SECRET})
    run("shop.show/It")
    context.set_focus(Focus(variant="shop.show/It"))
    (shown,) = canvas.on_output("shop.show/It")["outputs"]
    models = json.loads(shown["models"])
    assert models[shown["widget"]]["model_name"] == "VBoxModel"
    values = [model["state"].get("value") for model in models.values()]
    assert [values.count(5), values.count(REDACTED), values.count(SECRET)] == [1, 1, 0]


def test_an_image_in_markdown_asks_nothing_of_the_net(canvas, context):
    shows(context, Rich(**{"text/markdown": "![x](https://example.org/x.png)"}))
    assert "<img" not in canvas.on_output("shop.show/It")["outputs"][0]["markup"]


def test_output_is_bounded(canvas, context):
    repl_pair.story("shop.loud", component=lambda: print("x" * 50_000))
    repl_pair.variant("shop.loud/It")
    run("shop.loud/It")
    (stream,) = canvas.on_output("shop.loud/It")["streams"]
    assert len(stream["text"]) == LONGEST_STREAM
    assert stream["left_out"] == 50_001 - LONGEST_STREAM


def test_args_state_where_they_come_from_and_hide_secrets(canvas, context):
    context.set_focus(Focus(variant="shop.sum/Two", modes=("ten",)))
    answered = canvas.on_args()
    assert answered["conflicts"] == []
    lines = {line["path"]: line for line in answered["lines"]}
    assert lines["b"] == {
        "path": "b",
        "value": "10",
        "source": "mode ten",
        "covers": [{"value": "5", "source": "story shop.sum"}],
    }
    assert lines["token"]["value"] == "[redacted]"
    assert SECRET not in json.dumps(
        [answered, canvas.on_head(), canvas.on_data(), canvas.on_docs()]
    )


def test_phases_have_their_times_and_the_failed_one_its_error(canvas, context):
    def broken():
        raise ValueError("no such thing")

    repl_pair.story("shop.broken", component=broken)
    repl_pair.variant("shop.broken/It")
    run("shop.broken/It")
    answered = canvas.on_phases("shop.broken/It")
    assert [line["phase"] for line in answered["phases"]] == [
        "setup",
        "load",
        "events",
        "render",
        "teardown",
    ]
    assert max(line["share"] for line in answered["phases"]) == 1.0
    failed = next(line for line in answered["phases"] if "error" in line)
    assert failed["error"] == "ValueError: no such thing"
    assert "test_canvas.py, line " in failed["about"]


def test_docs_and_data_are_of_the_focus(canvas, context):
    assert "<h1>shop.sum</h1>" in canvas.on_docs()
    data = canvas.on_data()
    assert json.loads(data["text"])["args"] == {"a": 1}
    assert "test_canvas" in data["place"]


def test_data_hides_what_stands_under_a_secret_name(canvas, context):
    conf = {"smtp": {"password": "Sommer2024", "host": "here"}}
    repl_pair.story("mail", component=lambda to, api_key, conf: 1)
    repl_pair.variant("mail/A", args={"to": "a@b.c", "api_key": "mk_live_7Qm2xT", "conf": conf})
    context.set_focus(Focus(variant="mail/A"))
    assert json.loads(canvas.on_data()["text"])["args"] == {
        "to": "a@b.c",
        "api_key": "[redacted]",
        "conf": {"smtp": {"password": "[redacted]", "host": "here"}},
    }


def test_a_card_shows_the_run_of_its_verdict_and_no_what_if(canvas, context):
    run()
    repl_pair.run("shop.sum/One", overrides={"a": 50})
    (card,) = [card for card in card_grid(canvas, context) if card["name"] == "One"]
    assert (card["last"]["status"], card["last"]["other"]) == ("pass", False)
    assert canvas.on_output("shop.sum/One", most=1)["status"] == "pass"
    assert canvas.on_output("shop.sum/One")["status"] == "fail"


def card_grid(canvas, context):
    context.set_focus(Focus(story="shop.sum"))
    return canvas.on_layout()["cards"]


def test_a_story_is_laid_out_as_the_grid_of_its_variants(canvas, context):
    run()
    context.set_focus(Focus(story="shop.sum"))
    laid = canvas.on_layout()
    assert laid["layout"] == "variants_grid"
    assert [(card["name"], card["last"] and card["last"]["status"]) for card in laid["cards"]] == [
        ("One", "pass"),
        ("Two", None),
    ]


def test_of_many_variants_some_are_laid_out_and_the_rest_is_counted(canvas, context):
    for number in range(MAX_CARDS + 5):
        repl_pair.variant(f"shop.sum/N{number}")
    context.set_focus(Focus(story="shop.sum"))
    laid = canvas.on_layout()
    assert (len(laid["cards"]), laid["left_out"]) == (MAX_CARDS, 7)


@pytest.mark.parametrize(
    ("slots", "laid_out"),
    [
        ({"layout": "grid", "variants": ["shop.sum/One"], "columns": 3}, {"columns": 3}),
        ({"layout": "tabs", "variants": ["shop.sum/One"]}, {}),
        ({"layout": "variants_grid", "story": "shop.sum", "isolation": "shared"}, {"shared": True}),
    ],
)
def test_a_workspace_is_laid_out_as_registered(canvas, context, slots, laid_out):
    repl_pair.workspace("shop/All", **slots)
    context.set_focus(Focus(workspace="shop/All"))
    laid = canvas.on_layout()
    assert laid.items() >= {"layout": slots["layout"], **laid_out}.items()
    assert laid["cards"][0]["id"] == "shop.sum/One"


def test_prose_is_markdown_between_variants(canvas, context):
    content = [{"prose": "## Why\n\n*so*"}, {"variant": "shop.sum/One"}]
    repl_pair.workspace("shop/Prose", layout="prose", content=content)
    context.set_focus(Focus(workspace="shop/Prose"))
    why, card = canvas.on_layout()["blocks"]
    assert why == {"markup": "<h2>Why</h2>\n<p><em>so</em></p>\n"}
    assert card["card"]["id"] == "shop.sum/One"


def test_a_variant_that_is_missing_is_named_in_its_place(canvas, context, registries):
    repl_pair.workspace("shop/All", layout="grid", variants=["shop.sum/One", "shop.sum/Two"])
    registries.unregister("variant", "shop.sum/Two")
    context.set_focus(Focus(workspace="shop/All"))
    one, two = canvas.on_layout()["cards"]
    assert "missing" not in one
    assert two["missing"].startswith("There is no variant 'shop.sum/Two'")


def test_a_custom_workspace_shows_the_panel_that_it_names(eventually, canvas, context, sent):
    repl_pair.panel("mine", title="Mine", placement="right", render=lambda: "of mine")
    repl_pair.workspace("shop/Own", layout="custom", render="mine")
    context.set_focus(Focus(workspace="shop/Own"))
    assert canvas.on_layout()["ref"] is None
    eventually(lambda: canvas.on_layout()["ref"])
    assert canvas.on_layout()["ref"].startswith("anywidget:")


def test_each_custom_workspace_shows_its_panel_as_registered_last_made_once(
    eventually, canvas, context
):
    made = []

    def register(panel, name):
        repl_pair.panel(panel, title="P", placement="right", render=lambda: made.append(name))

    def shows(workspace):
        context.set_focus(Focus(workspace=workspace))
        for _ in range(3):
            canvas.on_layout()
        eventually(lambda: canvas.on_layout()["ref"])
        assert flush(PANEL_THREAD)
        return canvas.on_layout()["ref"]

    for at in "ab":
        register(at, at)
        repl_pair.workspace(f"shop/{at}", layout="custom", render=at)
    first = shows("shop/a")
    context.set_focus(Focus(workspace="shop/b"))
    assert canvas.on_layout()["ref"] is None
    assert shows("shop/b") != first
    register("b", "b again")
    assert canvas.on_layout()["ref"] is None
    shows("shop/b")
    assert made == ["a", "b", "b again"]


def test_a_custom_workspace_follows_what_its_panel_names_and_closes_it_with_the_focus(
    eventually, canvas, context
):
    followed = []

    def render(context):
        context.follow(lambda changes: followed.extend(changes.keys() & {FOCUS}))

    repl_pair.panel("outer", title="O", placement="modal", render="inner")
    repl_pair.workspace("shop/Own", layout="custom", render="outer")
    context.set_focus(Focus(workspace="shop/Own"))
    refs = []
    for title in ("First", "Second"):
        repl_pair.panel("inner", title=title, placement="modal", render=render)
        assert canvas.on_layout()["ref"] is None
        eventually(lambda: canvas.on_layout()["ref"])
        refs.append(canvas.on_layout()["ref"])
    assert refs[0] != refs[1]
    context.set_focus(Focus(story="shop.sum"))
    assert flush(PANEL_THREAD)
    followed.clear()
    context.set_focus(Focus(story="shop.other"))
    assert flush(PANEL_THREAD)
    assert followed == []


def test_a_custom_workspace_whose_panel_fails_shows_why(eventually, canvas, context):
    def render():
        raise ValueError("not today")

    repl_pair.panel("mine", title="Mine", placement="right", render=render)
    repl_pair.workspace("shop/Own", layout="custom", render="mine")
    context.set_focus(Focus(workspace="shop/Own"))
    eventually(lambda: "not today" in canvas.on_layout().get("fault", ""))


def test_all_of_a_workspace_runs_with_its_modes(eventually, canvas, context):
    ids = ["shop.sum/One", "shop.sum/Two"]
    repl_pair.workspace("shop/All", layout="grid", variants=ids, modes=["ten"])
    context.set_focus(Focus(workspace="shop/All"))
    canvas.on_run("workspace", "shop/All")
    assert context.batch.progress.total == 2
    eventually(lambda: all(last_result(id) for id in ids))
    assert {last_result(id).active_modes for id in ids} == {("ten",)}


def test_why_not_all_of_a_workspace_was_run_is_shown_in_its_place(
    eventually, canvas, context, sent
):
    repl_pair.workspace("shop/All", layout="grid", variants=["shop.sum/One", "shop.sum/Two"])
    repl_pair.story("shop.sum", component=lambda count=1: count)
    context.set_focus(Focus(workspace="shop/All"))
    canvas.on_run("workspace", "shop/All")
    eventually(lambda: any("no argument" in one.get("refused", "") for one in sent))


def test_a_run_from_elsewhere_is_sent_as_a_patch(canvas, context, sent):
    run()
    flush(PANEL_THREAD)
    (head,) = (message["all"] for message in sent if "all" in message)
    assert head["last"]["status"] == "pass"
    sent.clear()
    context.set_focus(Focus(story="shop.sum"))
    flush(PANEL_THREAD)
    sent.clear()
    run()
    flush(PANEL_THREAD)
    (patch,) = sent
    assert [card["id"] for card in patch["cards"]] == ["shop.sum/One"]


def test_a_run_of_another_variant_sends_nothing(canvas, sent):
    run("shop.sum/Two")
    flush(PANEL_THREAD)
    assert sent == []


def test_what_is_registered_elsewhere_draws_nothing_anew(canvas, context, sent):
    repl_pair.story("shop.far", component=add)
    flush(PANEL_THREAD)
    sent.clear()
    repl_pair.variant("shop.far/It")
    flush(PANEL_THREAD)
    assert sent == []
    repl_pair.variant("shop.sum/One", args={"a": 2})
    flush(PANEL_THREAD)
    assert [list(message) for message in sent] == [["all"]]


def test_one_of_many_gets_the_focus_when_it_is_opened(canvas, context):
    context.set_focus(Focus(workspace="shop/All", overrides={"a": 1}))
    canvas.on_open("shop.sum/Two")
    assert context.focus == Focus(story="shop.sum", variant="shop.sum/Two")


def test_without_a_focus_it_shows_what_to_type(sent, registries):
    canvas = CanvasView(PanelContext(), sent.append)
    assert '@repl_pair.story("shop.total")' in canvas.on_head()["code"]
    repl_pair.story("shop.sum", component=add)
    assert canvas.on_head()["code"] == "repl_pair.show('shop.sum')"
    canvas.close()


def test_what_left_the_registry_is_named(canvas, context):
    context.set_focus(Focus(variant="shop.sum/Gone"))
    assert canvas.on_head()["kind"] == "missing"


def test_the_text_shows_the_status_and_no_time(canvas, context):
    run()
    assert canvas.text() == "`shop.sum/One` **pass**, 1 assertions"
    context.set_focus(Focus(story="shop.sum"))
    assert canvas.text() == docs("shop.sum")
    context.set_focus(Focus(story="shop.gone"))
    assert "There is no story" in canvas.text()
    repl_pair.workspace("shop/All", layout="grid", variants=["shop.sum/One"])
    context.set_focus(Focus(workspace="shop/All"))
    assert canvas.text() == "`shop/All`\n\n- `shop.sum/One`"
