"""The controls panel without a browser: its fields, what fits, and what is kept of an edit."""

import json
import threading
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from flushing import flush

import repl_pair
from repl_pair import Sensitive
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.controls.view import ControlsView
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.registry import REGISTRY

SECRET = "kestrel-9931-orchid"
OTHER = "walnut-4417-harbour"


class Size(Enum):
    S = 1
    M = 2


@dataclass
class Point:
    x: int = 0
    y: float = 1.0


class Address(TypedDict):
    street: str
    number: int


RAN = []


def place(
    qty: int = 1,
    rate: float = 1.5,
    on: bool = True,
    name: str = "x",
    size: Size = Size.S,
    kind: Literal["a", "b"] = "a",
    when: date = date(2026, 1, 2),
    at: datetime | None = None,
    hour: time = time(8, 30),
    path: Path = Path("a"),
    price: Decimal = Decimal("1.10"),
    point: Point = Point(7, 7.0),  # noqa: B008  what a person writes
    address: Address | None = None,
    tags: list[str] = [],  # noqa: B006  as above
    extra: dict[str, int] = {},  # noqa: B006  as above
    colour: str = "#ff0000",
    token: Annotated[str, Sensitive] = "",
    other: Any = (1, 2),
    either: int | str = 3,
) -> int:
    RAN.append(dict(locals()))
    return qty


ARGTYPES = {
    "qty": {"min": 0, "max": 9, "doc": "How many"},
    "rate": {"control": {"type": "range", "min": 0, "max": 2, "step": 0.5}},
    "colour": {"control": "color"},
    "name": {"options": ["x", "y", "z", "u", "v"], "control": "select"},
}


@pytest.fixture
def context(open_context):
    repl_pair.story("shop.place", component=place, argtypes=ARGTYPES)
    repl_pair.variant(
        "shop.place/One",
        args={
            "qty": 3,
            "token": SECRET,
            "extra": {"a": 1},
            "address": {"street": "A", "number": 4},
        },
    )
    RAN.clear()
    return open_context(variant="shop.place/One")


@pytest.fixture
def view(context, sent):
    made = ControlsView(context, sent.append)
    undo = context.follow(made.handle_changes)
    made.on_form()
    yield made
    undo()


def value(state, *path):
    return next(each for each in state["values"] if each["path"] == list(path))


def edit(view, *given, **more):
    return view.on_edit(view.context.focus.variant, *given, **more)


def reset(view, *given):
    return view.on_reset(view.context.focus.variant, *given)


def save(view, name):
    return view.on_save(view.context.focus.variant, name)


def controls(fields):
    for each in fields:
        yield ".".join(each["path"]), each["control"]
        yield from controls(each["fields"])


def test_each_type_has_its_control(view):
    assert dict(controls(view.on_form()["fields"])) == {
        "qty": "range",
        "rate": "range",
        "on": "checkbox",
        "name": "select",
        "size": "radio",
        "kind": "radio",
        "when": "date",
        "at": "datetime",
        "hour": "time",
        "path": "text",
        "price": "text",
        "point": "group",
        "point.x": "number",
        "point.y": "number",
        "address": "group",
        "address.street": "text",
        "address.number": "number",
        "tags": "json",
        "extra": "json",
        "colour": "colour",
        "token": "secret",
        "other": "expression",
        "either": "expression",
    }


def test_argtypes_give_bounds_docs_and_choices(view):
    fields = {each["path"][0]: each for each in view.on_form()["fields"]}
    assert (fields["qty"]["least"], fields["qty"]["most"]) == (0, 9)
    assert fields["qty"]["doc"] == "How many"
    assert fields["rate"]["step"] == 0.5
    assert fields["name"]["options"] == ["x", "y", "z", "u", "v"]
    assert fields["at"]["is_nullable"]
    assert fields["at"]["type"] == "datetime | None"


def test_values_begin_at_the_effective_args(view):
    state = view.on_form()
    assert value(state, "qty")["value"] == "3"
    assert value(state, "size")["value"] == "0"
    assert value(state, "point", "x")["value"] == "7"
    assert value(state, "address", "number")["value"] == "4"
    assert value(state, "at") == {"path": ["at"], "edited": False, "none": True, "set": True}
    assert state["edited"] == 0


@pytest.mark.parametrize(
    ("path", "raw", "override"),
    [
        (["qty"], "4", 4),
        (["rate"], "0.5", 0.5),
        (["on"], False, False),
        (["name"], "3", "u"),
        (["size"], "1", "M"),
        (["kind"], "1", "b"),
        (["when"], "2026-03-04", "2026-03-04"),
        (["at"], "2026-03-04T05:06", "2026-03-04T05:06"),
        (["hour"], "09:00", "09:00"),
        (["path"], "b/c", "b/c"),
        (["price"], "2.25", "2.25"),
        (["tags"], '["p", "q"]', ["p", "q"]),
        (["colour"], "#00ff00", "#00ff00"),
        (["other"], "{'a': (1, 2)}", {"a": (1, 2)}),
        (["either"], "'text'", "text"),
    ],
)
def test_what_is_typed_becomes_an_override(view, context, path, raw, override):
    state = edit(view, path, raw)
    assert context.focus.overrides == {path[0]: override}
    assert value(state, *path)["edited"]
    assert "fault" not in value(state, *path)


@pytest.mark.parametrize(
    ("path", "raw", "words"),
    [
        (["qty"], "four", "a whole number"),
        (["qty"], "10", "9 or less"),
        (["rate"], "", "a number"),
        (["when"], "2026-13-01", "ISO text"),
        (["hour"], "25:00", "ISO text"),
        (["price"], "1,5", "a decimal number"),
        (["tags"], "[1]", "expected string"),
        (["tags"], "[", "not JSON"),
        (["other"], "__import__('os')", "Python literal"),
        (["other"], "1 + x", "Python literal"),
        (["extra"], '{"b": 2}', "a cannot be taken out"),
        (["address", "number"], "x", "a whole number"),
    ],
)
def test_what_does_not_fit_is_shown_at_its_field_and_not_run(view, context, path, raw, words):
    state = edit(view, path, raw)
    assert words in value(state, *path)["fault"]
    assert value(state, *path)["value"] == raw
    assert context.focus.overrides == {}
    with pytest.raises(RequestError, match=r"Nothing was run"):
        view.on_run("shop.place/One")
    assert context.running == {}
    assert RAN == []


def test_a_field_that_fits_again_no_longer_keeps_the_form_from_running(view, context):
    edit(view, ["qty"], "four")
    state = edit(view, ["qty"], "4")
    assert "fault" not in value(state, "qty")
    assert context.refusal == ""


def test_an_edit_back_to_what_stood_there_is_none(view, context):
    edit(view, ["qty"], "4")
    state = edit(view, ["qty"], "3")
    assert context.focus.overrides == {}
    assert not value(state, "qty")["edited"]


def test_args_that_no_parameter_names_have_fields_by_their_values(context, view):
    class Basket:
        def __init__(self, **options):
            self.options = options

        def fill(self, count):
            self.count = count

    repl_pair.story("shop.basket", component=Basket)
    repl_pair.variant(
        "shop.basket/Full",
        args={"loud": True, "label": "L", "count": 2},
        args_to_events={"count": "fill"},
    )
    context.set_focus(Focus(variant="shop.basket/Full"))
    shown = {"loud": "checkbox", "label": "text", "count": "number"}
    assert dict(controls(view.on_form()["fields"])) == shown
    edit(view, ["count"], "3")
    assert context.focus.overrides == {"count": 3}
    assert plan_variant("shop.basket/Full", overrides={"count": 3}).dispatched == {"count": 3}


def test_a_mode_moves_where_the_values_begin(context, view):
    repl_pair.mode("cheap", args={"rate": 0.5})
    context.set_focus(Focus(variant="shop.place/One", modes=("cheap",)))
    assert value(view.on_form(), "rate")["value"] == "0.5"


def test_a_part_of_a_default_brings_the_rest_of_it(view, context):
    state = edit(view, ["point", "x"], "8")
    assert context.focus.overrides == {"point": {"x": 8, "y": 7.0}}
    assert value(state, "point", "x")["edited"]
    assert not value(state, "point", "y")["edited"]
    reset(view, ["point", "x"])
    assert context.focus.overrides == {}


def test_a_part_of_an_arg_is_laid_over_the_rest(view, context):
    edit(view, ["address", "number"], "5")
    assert context.focus.overrides == {"address": {"number": 5}}
    args = plan_variant("shop.place/One", overrides=context.focus.overrides).args
    assert args["address"] == {"street": "A", "number": 5}


def test_none_is_chosen_by_its_box(view, context):
    state = edit(view, ["address"], none=True)
    assert context.focus.overrides == {"address": None}
    assert value(state, "address")["none"]


def test_one_edit_or_all_are_taken_back(view, context):
    edit(view, ["qty"], "4")
    edit(view, ["on"], False)
    edit(view, ["rate"], "far")
    state = reset(view, ["qty"])
    assert context.focus.overrides == {"on": False}
    assert "fault" in value(state, "rate")
    state = reset(view)
    assert context.focus.overrides == {}
    assert [each for each in state["values"] if each["edited"] or "fault" in each] == []


def test_the_code_runs_the_same(view, context):
    for path, raw in ((["qty"], "4"), (["when"], "2026-03-04"), (["point", "x"], "8")):
        edit(view, path, raw)
    code = view.on_code("shop.place/One")
    assert code["odd"] == []
    record = eval(code["text"], {"repl_pair": repl_pair})
    plan = plan_variant("shop.place/One", overrides=context.focus.overrides)
    assert record.effective_args["qty"] == plan.args["qty"] == 4
    assert RAN[-1]["when"] == date(2026, 3, 4)
    assert RAN[-1]["point"] == Point(8, 7.0)


def test_the_code_names_modes_and_rendering(view, context):
    repl_pair.mode("cheap", args={"rate": 0.5})
    context.set_focus(Focus(variant="shop.place/One", modes=("cheap",), substrate="html"))
    text = 'repl_pair.run("shop.place/One", modes=["cheap"], substrate="html")'
    assert view.on_code("shop.place/One")["text"] == text


def test_edits_are_saved_as_a_variant_of_the_persons_that_extends_this_one(view, context):
    edit(view, ["qty"], "4")
    assert save(view, "Four") == "shop.place/Four"
    entry = REGISTRY.get("variant", "shop.place/Four")
    assert entry.body.args == {"qty": 4}
    assert entry.body.extends == "shop.place/One"
    assert entry.origin.label == "the panel Controls"
    assert entry.origin.key == "panel:controls"
    assert context.focus == Focus(variant="shop.place/Four")


@pytest.mark.parametrize("name", ["One", "", "a b", "shop.other/X"])
def test_a_name_that_is_taken_or_none_is_refused(view, name):
    with pytest.raises(ReplPairError):
        save(view, name)
    assert REGISTRY.ids("variant", "shop.") == ["shop.place/One"]


def test_a_secret_is_taken_and_never_given_back(view, context, sent):
    shown = [view.on_form(), edit(view, ["token"], OTHER), view.on_code("shop.place/One")]
    shown += [view.on_form()]
    shown += [edit(view, ["token"], "12345678-no"), {"text": view.text()}, sent]
    assert value(shown[1], "token") == {
        "path": ["token"],
        "edited": True,
        "none": False,
        "set": True,
    }
    for secret in (SECRET, OTHER):
        assert secret not in json.dumps(shown)
    assert shown[2]["odd"]
    edit(view, ["token"], OTHER)
    assert save(view, "Tokened")
    repl_pair.run("shop.place/Tokened")
    assert RAN[-1]["token"] == OTHER


def test_a_secret_that_is_not_set_yet_has_no_open_input_either(view, context):
    def login(
        pin: Annotated[int, Sensitive], keys: Annotated[list[str], Sensitive], password: str
    ) -> int:
        return pin

    repl_pair.story("shop.login", component=login)
    repl_pair.variant("shop.login/It")
    context.set_focus(Focus(variant="shop.login/It"))
    found = dict(controls(view.on_form()["fields"]))
    assert found == {"pin": "secret", "keys": "secret", "password": "secret"}
    state = edit(view, ["keys"], "[99310042]")
    assert value(state, "keys")["fault"] == "This does not fit list[str]."
    assert "99310042" not in json.dumps(state)
    edit(view, ["pin"], "99310042")
    assert "99310042" not in repr(context.focus)


def test_a_value_that_holds_a_known_secret_is_masked_too(view, context):
    repl_pair.variant("shop.place/Hidden", args={"other": {"deep": [SECRET]}, "extra": {}})
    context.set_focus(Focus(variant="shop.place/Hidden"))
    assert SECRET not in json.dumps(view.on_form())
    assert dict(controls(view.on_form()["fields"]))["other"] == "secret"


def test_what_has_no_input_can_be_replaced(view, context):
    numpy = pytest.importorskip("numpy")
    repl_pair.variant("shop.place/Array", args={"other": numpy.zeros(3)})
    context.set_focus(Focus(variant="shop.place/Array"))
    assert value(view.on_form(), "other")["note"] == "a ndarray"
    edit(view, ["other"], "[1, 2]")
    assert context.focus.overrides == {"other": [1, 2]}


@pytest.mark.parametrize(
    ("ask", "given"),
    [("edit", (["qty"], "4")), ("reset", ()), ("save", ("Three",)), ("run", ()), ("code", ())],
)
def test_a_form_that_is_in_focus_no_more_changes_no_other(view, context, ask, given):
    repl_pair.variant("shop.place/Two")
    focus = Focus(variant="shop.place/Two", overrides={"qty": 2})
    context.set_focus(focus)
    with pytest.raises(RequestError, match=r"shop\.place/One is not in focus any more"):
        getattr(view, f"on_{ask}")("shop.place/One", *given)
    assert (context.focus, context.running) == (focus, {})


def test_another_variant_begins_without_what_did_not_fit(view, context):
    repl_pair.variant("shop.place/Two")
    edit(view, ["qty"], "four")
    context.set_focus(Focus(variant="shop.place/Two"))
    assert context.refusal == ""
    state = view.on_form()
    assert [each for each in state["values"] if "fault" in each] == []


def test_the_form_is_drawn_anew_for_what_others_change_and_not_for_its_own_edits(
    view, context, sent
):
    flush(PANEL_THREAD)
    sent.clear()
    edit(view, ["qty"], "4")
    flush(PANEL_THREAD)
    assert {"form": None} not in sent
    repl_pair.variant("shop.place/One", args={"qty": 5})
    flush(PANEL_THREAD)
    assert {"form": None} in sent


def test_a_run_uses_the_edits(eventually, view, context):
    edit(view, ["qty"], "4")
    view.on_run("shop.place/One")
    eventually(lambda: RAN)
    assert RAN[-1]["qty"] == 4


def test_it_runs_on_change_only_when_asked(eventually, view, context):
    edit(view, ["qty"], "4")
    assert context.running == {}
    assert RAN == []
    view.on_options(runs_on_change=True)
    edit(view, ["qty"], "5")
    edit(view, ["qty"], "6")
    edit(view, ["qty"], "7")
    eventually(lambda: RAN and RAN[-1]["qty"] == 7)
    assert len(RAN) <= 3


def test_it_runs_on_change_behind_a_run_that_another_panel_began(eventually, view, context):
    view.on_options(runs_on_change=True)
    context.run_focus()
    edit(view, ["qty"], "4")
    eventually(lambda: [one["qty"] for one in RAN] == [3, 4])


def test_it_runs_on_change_what_was_edited_and_not_what_is_opened_meanwhile(eventually, open_view):
    ran, gate = [], threading.Event()

    @repl_pair.story("shop.pay")
    def pay(who: str, n: int = 1):
        ran.append((who, n))
        if who == "A":
            assert gate.wait(60)

    for who in "AB":
        repl_pair.variant(f"shop.pay/{who}", args={"who": who})
    view, _ = open_view(ControlsView, variant="shop.pay/A")
    view.on_form()
    view.on_options(runs_on_change=True)
    edit(view, ["n"], "2")
    eventually(lambda: ran)
    edit(view, ["n"], "3")
    view.context.focus_on(story="shop.pay", variant="shop.pay/B")
    view.on_form()
    gate.set()
    eventually(lambda: not view.context.running)
    assert flush(PANEL_THREAD)
    assert (ran, view.context.running) == ([("A", 2)], {})
    view.context.close()


def test_a_refused_run_of_what_left_is_reported(eventually, open_view):
    view, sent = open_view(ControlsView, variant="shop.place/One")
    view.on_form()
    view.context.set_focus(Focus(story="shop.place"))
    view._report({"ok": False, "error": {"code": "not_found", "message": "it left"}})
    assert sent[-1] == {"refused": {"path": [], "text": "it left"}}


def test_an_edit_of_a_parameter_that_left_is_named_and_can_be_taken_back(view, context):
    def register(**params):
        made = ", ".join(f"{name}: {hint}" for name, hint in params.items())
        exec(f"def pay({made}): pass", space := {})
        repl_pair.story("shop.pay", component=space["pay"])

    register(n="int = 1", size="int = 1")
    repl_pair.variant("shop.pay/A")
    context.set_focus(Focus(variant="shop.pay/A"))
    view.on_form()
    edit(view, ["n"], "2")
    assert "whole number" in value(edit(view, ["size"], "much"), "size")["fault"]
    register(count="int = 1")
    form = view.on_form()
    assert (form["edited"], form["fault"]) == (
        1,
        "Edited, and no field any more: n. Reset all takes that back.",
    )
    assert context.refusal == ""
    assert reset(view)["fault"] == ""
    assert context.focus.overrides == {}


def test_a_secret_is_masked_however_deep_it_stands(open_view):
    conf = {"password": SECRET}
    for _ in range(12):
        conf = {"in": conf}
    repl_pair.story("mail", component=lambda conf: 1)
    repl_pair.variant("mail/A", args={"conf": conf})
    view, _ = open_view(ControlsView, variant="mail/A")
    form = view.on_form()
    assert SECRET not in json.dumps(form)
    assert dict(controls(form["fields"])) == {"conf": "secret"}


def test_without_a_variant_it_shows_what_to_do(sent):
    assert ControlsView(PanelContext(), sent.append).on_form() == {
        "variant": None,
        "runs_on_change": False,
        "fields": [],
        "values": [],
        "edited": 0,
        "fault": "Choose a variant to edit its args.",
        "running": False,
    }


def test_a_variant_that_cannot_be_planned_shows_why(view, context):
    context.set_focus(Focus(variant="shop.place/Gone"))
    assert "There is no variant" in view.on_form()["fault"]
    assert "There is no variant" in view.text()


def test_the_text_is_the_same_each_time_and_masks_secrets(view):
    text = view.text()
    assert text == view.text()
    assert "| `token` | str | [redacted] |" in text
    assert "| `qty` | int | 3 |" in text
