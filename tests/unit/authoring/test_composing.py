"""What composes variants: workspaces, panels, modes, tags, a story's own slots."""

import importlib
import sys
import textwrap

import pytest

import repl_pair
from repl_pair.errors import AuthoringError, ReplPairError
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.planned import planned
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import Decorator, Mode, Panel, Story, Tag, Workspace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import View

check = repl_pair.check


def total(a: int = 1, b: int = 2):
    return a + b


@pytest.fixture(autouse=True)
def story():
    repl_pair.story("shop", component=total)
    repl_pair.variant("shop/A")
    repl_pair.variant("shop/B")


def body(kind, id):
    return REGISTRY.get(kind, id).body


LAYOUTS = {
    "grid": {"variants": ["shop/A", "shop/B"], "columns": 2},
    "tabs": {"variants": ["shop/B"]},
    "prose": {"content": [{"prose": "First."}, {"variant": "shop/A"}]},
    "variants_grid": {"story": "shop", "isolation": "shared"},
    "custom": {"render": "not/yet", "variants": ["shop/A"]},
}


@pytest.mark.parametrize(("layout", "slots"), LAYOUTS.items(), ids=LAYOUTS)
def test_each_layout_takes_what_it_needs(layout, slots):
    repl_pair.workspace("shop/Board", layout=layout, modes=[], doc="A board.", **slots)
    kept = {name: tuple(v) if isinstance(v, list) else v for name, v in slots.items()}
    assert body("workspace", "shop/Board") == Workspace(layout=layout, doc="A board.", **kept)


def test_a_grid_of_variants_may_name_them_instead_of_a_story():
    repl_pair.workspace("shop/Board", layout="variants_grid", variants=["shop/A"])
    assert body("workspace", "shop/Board").story is None


def test_isolation_is_isolated_unless_it_is_reported():
    repl_pair.workspace("shop/Board", layout="variants_grid", story="shop")
    assert body("workspace", "shop/Board").isolation == "isolated"


@pytest.mark.parametrize(
    ("slots", "code", "message"),
    [
        ({"layout": "gird"}, "bad_body", r"no layout 'gird'\. Nearest: grid"),
        ({"layout": "grid"}, "bad_body", "layout grid takes variants, and not .*; given: none"),
        (
            {"layout": "variants_grid", "story": "shop", "variants": ["shop/A"]},
            "bad_body",
            "takes story or variants, and not .*; given: variants, story",
        ),
        (
            {"layout": "prose", "variants": ["shop/A"]},
            "bad_body",
            "takes content, and not .*; given: variants",
        ),
        ({"layout": "custom", "variants": ["shop/A"]}, "bad_body", "takes render"),
        (
            {"layout": "tabs", "variants": ["shop/A"], "isolation": "shared"},
            "bad_body",
            "isolation is isolated, or shared in a variants_grid",
        ),
        (
            {"layout": "tabs", "variants": ["shop/A"], "isolation": "other"},
            "bad_body",
            "isolation is",
        ),
        (
            {"layout": "grid", "variants": ["shop/A"], "columns": 0},
            "bad_body",
            "columns is 1 or more, not 0",
        ),
        (
            {"layout": "tabs", "variants": ["shop/a"]},
            "not_found",
            r"no variant 'shop/a'\. Nearest: shop/",
        ),
        (
            {"layout": "variants_grid", "story": "shp"},
            "not_found",
            r"no story 'shp'\. Nearest: shop",
        ),
        (
            {"layout": "prose", "content": [{"variant": "shop/C"}]},
            "not_found",
            "no variant 'shop/C'",
        ),
        (
            {"layout": "prose", "content": ["Just text."]},
            "bad_body",
            "content is a list of {'prose': text} and {'variant': id}, not 'Just text.'",
        ),
        (
            {"layout": "tabs", "variants": ["shop/A"], "modes": ["eur"]},
            "not_found",
            "no mode 'eur'",
        ),
    ],
)
def test_a_wrong_workspace_is_refused_with_what_it_takes(slots, code, message):
    with pytest.raises(AuthoringError, match=message) as refused:
        repl_pair.workspace("shop/Board", **slots)
    assert refused.value.code == code
    assert not REGISTRY.find("workspace", "shop/Board")


@pytest.mark.parametrize("placement", ["right", "left", "bottom", "top", "modal", "centre"])
def test_a_panel_stands_in_one_of_six_places(placement):
    repl_pair.panel("notes", title="Notes", placement=placement, render="shop/board")
    assert body("panel", "notes") == Panel(title="Notes", placement=placement, render="shop/board")


def test_a_panel_elsewhere_is_refused():
    with pytest.raises(AuthoringError, match="bottom, top, modal, centre, not 'middle'"):
        repl_pair.panel("notes", title="Notes", placement="middle", render=print)


@pytest.mark.filterwarnings("ignore::repl_pair.runtime.registry.registry.RegistrationWarning")
def test_a_panel_is_shown_by_the_function_that_stands_at_its_name_then(module):
    shop = module(
        "panel_shop",
        """
import repl_pair
def notes(): return 1
repl_pair.panel("notes", title="Notes", placement="left", render=notes)
""",
    )
    exec("def notes(): return 2", shop.__dict__)
    assert body("panel", "notes").render.resolve()() == 2
    repl_pair.panel("notes", title="Other", placement="left", render=lambda: 3)
    assert body("panel", "notes").title == "Other"
    assert body("panel", "notes").render.resolve()() == 3


def test_modes_of_one_axis_exclude_each_other():
    repl_pair.mode("eur", args={"a": 2}, axis="currency")
    repl_pair.mode("usd", args={"a": 3}, axis="currency")
    repl_pair.mode("big", args={"b": 9})
    assert body("mode", "eur") == Mode(args={"a": 2}, axis="currency")
    assert repl_pair.run("shop/A", modes=["eur", "big"]).result == 11
    with pytest.raises(ReplPairError, match="'eur' and 'usd' share the axis 'currency'") as refused:
        repl_pair.run("shop/A", modes=["eur", "usd"])
    assert refused.value.code == "bad_arguments"
    with pytest.raises(ReplPairError, match=r"no mode 'euro'\. Nearest: eur"):
        repl_pair.run("shop/A", modes=["euro"])


def test_a_tag_states_what_lists_do_with_it():
    repl_pair.tag("hidden", axis="status", default_filter="exclude", doc="Not for all.")
    assert body("tag", "hidden") == Tag(axis="status", default_filter="exclude", doc="Not for all.")
    with pytest.raises(AuthoringError, match="include or exclude, not 'never'"):
        repl_pair.tag("hidden", default_filter="never")


def test_a_story_keeps_all_that_it_was_given():
    repl_pair.mode("eur", args={})
    repl_pair.decorator("plain", wrap=lambda component: component)
    repl_pair.story(
        "full",
        component=total,
        doc="Sum.",
        args={"a": 3},
        argtypes={"a": {"control": "range"}},
        tags=["docs"],
        modes=["eur"],
        decorators=["plain"],
        substrates=["text", "html"],
        state=str,
        thread_safe=True,
        agent_overrides=False,
    )
    found = body("story", "full")
    assert found == Story(
        component=found.component,
        doc="Sum.",
        args={"a": 3},
        argtypes={"a": {"control": "range"}},
        tags=("docs",),
        modes=("eur",),
        decorators=(["plain", {}],),
        substrates=("text", "html"),
        state=found.state,
        thread_safe=True,
        agent_overrides=False,
    )
    assert (found.component.resolve(), found.state.resolve()) == (total, str)


def test_a_decorator_keeps_all_that_it_was_given():
    repl_pair.decorator(
        "setup", kind="frame_setup", init=["go"], teardown=[["stop", {"n": 1}]], patch={"a.b": 1}
    )
    assert body("decorator", "setup") == Decorator(
        kind="frame_setup",
        init=(["go", {}],),
        teardown=(["stop", {"n": 1}],),
        patch={"a.b": 1},
    )
    repl_pair.decorator("answer", kind="fx_override", effect="mail", responses=[1, {"a": 2}])
    assert body("decorator", "answer") == Decorator(
        kind="fx_override", effect="mail", responses=(1, {"a": 2}), repeats=False
    )


@pytest.mark.parametrize("patch", [["a"], {"a[": 1}, {"": 1}])
def test_a_patch_is_paths_with_values(patch):
    with pytest.raises(AuthoringError, match="decorator 'setup': patch") as refused:
        repl_pair.decorator("setup", kind="frame_setup", patch=patch)
    assert refused.value.code == "bad_body"


# --- a story's own variants


def test_the_variants_of_a_story_are_registrations_of_their_own():
    repl_pair.story(
        "sums",
        component=total,
        tier="ops",
        variants={
            "Small": {"args": {"a": 1}, "play": [check.path_equals("result", 3)]},
            "Big": {"extends": "sums/Small", "args": {"b": 9}, "doc": "More.", "tier": None},
        },
    )
    assert list(REGISTRY.ids("variant", "sums/")) == ["sums/Big", "sums/Small"]
    assert [REGISTRY.get("variant", f"sums/{n}").tier for n in ("Small", "Big")] == ["ops", None]
    assert (repl_pair.run("sums/Small").status, repl_pair.run("sums/Big").result) == ("pass", 10)
    before = REGISTRY.get("variant", "sums/Small")
    repl_pair.variant("sums/Big")
    assert REGISTRY.get("variant", "sums/Small") is before


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        (
            {"A": {"agrs": {}}},
            r"variant 'A': it has no 'agrs'\. Nearest: .*args",
        ),
        ({"A": []}, r"variant 'A': it is \(args, expected\), \(args,\) or"),
        (["A"], r"variants\[0\]: it is \(args, expected\)"),
        ({"A": {"id": "x"}}, "variant 'A': it has no 'id'"),
    ],
)
def test_wrong_variants_of_a_story_are_refused_before_it_is_entered(variants, message):
    with pytest.raises(AuthoringError, match=message) as refused:
        repl_pair.story("sums", component=total, variants=variants)
    assert refused.value.code == "bad_body"
    assert not REGISTRY.find("story", "sums")


def test_what_a_module_leaves_out_when_it_runs_again_is_retired(tmp_path, monkeypatch):
    def load(names, uses):
        (tmp_path / "sugar_shop.py").write_text(
            textwrap.dedent(f"""
            import repl_pair
            def one(): return 1
            for use in {uses!r}:
                repl_pair.decorator(use, wrap=lambda component: component)
            repl_pair.story("sugar", component=one, variants={{n: {{}} for n in {names!r}}})
            """)
        )
        importlib.invalidate_caches()
        known = sys.modules.get("sugar_shop")
        importlib.reload(known) if known else importlib.import_module("sugar_shop")

    monkeypatch.syspath_prepend(tmp_path)
    try:
        load(["A", "B"], ["first", "second"])
        assert list(REGISTRY.ids("variant", "sugar/")) == ["sugar/A", "sugar/B"]
        load(["B", "Cc"], ["second"])
        assert list(REGISTRY.ids("variant", "sugar/")) == ["sugar/B", "sugar/Cc"]
        assert list(REGISTRY.ids("decorator")) == ["force_fx_stub", "second"]
    finally:
        sys.modules.pop("sugar_shop", None)


# --- what is given in a wrong form


@pytest.mark.parametrize(
    ("slots", "code", "message"),
    [
        ({"loaders": ["lmap"]}, "not_found", r"no loader 'lmap'\. Nearest: lamp"),
        ({"loaders_complete_when": "ful"}, "not_found", r"no derived 'ful'\. Nearest: full"),
        ({"loaders_complete_when": 3}, "bad_body", "loaders_complete_when is a list"),
        ({"modes": ["ueur"]}, "not_found", r"no mode 'ueur'\. Nearest: eur"),
        ({"tags": ["!in work"]}, "bad_id", "not a valid tag id"),
        ({"substrates": "text"}, "bad_body", r"substrates is a list: \['text'\]"),
        ({"events": "add"}, "bad_body", r"events is a list: \['add'\]"),
        ({"events": [["add", 1]]}, "bad_body", "an event is"),
        ({"args_to_events": {"a": 1}}, "bad_body", "args_to_events is a mapping"),
        ({"args_to_events": "a"}, "bad_body", "args_to_events is a mapping"),
    ],
)
def test_a_wrong_slot_of_a_variant_is_refused_with_the_nearest(slots, code, message):
    repl_pair.loader("lamp")(list)
    repl_pair.derived("full")(bool)
    repl_pair.mode("eur", args={})
    with pytest.raises(AuthoringError, match=message) as refused:
        repl_pair.variant("shop/C", **slots)
    assert refused.value.code == code
    assert not REGISTRY.find("variant", "shop/C")


@pytest.mark.parametrize("kind", ["loader", "derived"])
def test_what_left_after_it_was_named_makes_the_run_cannot_run_and_is_named(kind):
    for name in ("lamp", "lump"):
        repl_pair.loader(name)(list)
        repl_pair.derived(name)(lambda state: True)
    repl_pair.variant("shop/C", loaders=["lamp"], loaders_complete_when="lamp")
    assert repl_pair.run("shop/C").status == "pass"
    REGISTRY.unregister(kind, "lamp")
    record = repl_pair.run("shop/C")
    assert record.status == "cannot_run"
    assert f"There is no {kind} 'lamp'. Nearest: lump." in record.reason


# --- overrides of an agent


def test_a_story_may_refuse_what_an_agent_overrides():
    repl_pair.story("sums", component=total, agent_overrides=False)
    repl_pair.variant("sums/A")
    agent, person = Call(view=View(principal="agent")), Call(view=View(principal="person"))
    with pytest.raises(ReplPairError, match="agent_overrides=False") as refused:
        planned(agent, "sums/A", overrides={"a": 2})
    assert refused.value.code == "cannot_run"
    planned(agent, "sums/A", overrides={})
    planned(person, "sums/A", overrides={"a": 2})
    planned(agent, "shop/A", overrides={"a": 2})


def test_the_rendering_is_one_that_story_and_variant_are_for():
    repl_pair.story("sums", component=total, substrates=["html", "text"])
    repl_pair.variant("sums/A")
    repl_pair.variant("sums/B", substrates=["png"])
    assert [plan_variant(f"sums/{n}").substrate for n in "AB"] == ["text", "png"]
    record = repl_pair.run("sums/B", substrate="html")
    assert (record.status, record.reason) == ("cannot_run", "sums/B is for png, not for html.")


@pytest.mark.parametrize(
    "register",
    [
        lambda: repl_pair.mode("m", args={"a": 1}, axis=["a"]),
        lambda: repl_pair.mode("m", args={"a": 1}, doc=5),
        lambda: repl_pair.tag("m", doc=None),
        lambda: repl_pair.tag("m", axis=5),
        lambda: repl_pair.variant("shop/A", doc=5),
        lambda: repl_pair.story("m", component=len, doc=5),
        lambda: repl_pair.panel("m", title=5, placement="right", render=len),
        lambda: repl_pair.workspace("m", layout="grid", variants=["shop/A"], doc=5),
    ],
)
def test_a_slot_that_is_a_text_takes_no_other_value(register):
    repl_pair.story("shop", component=lambda a=1: a)
    repl_pair.variant("shop/A")
    before = {kind: REGISTRY.snapshot(kind) for kind in REGISTRY.kinds}
    with pytest.raises(AuthoringError, match=r"(doc|axis|title) is a text, not") as refused:
        register()
    assert refused.value.code == "bad_body"
    assert {kind: REGISTRY.snapshot(kind) for kind in REGISTRY.kinds} == before
