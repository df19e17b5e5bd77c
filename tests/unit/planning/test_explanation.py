from dataclasses import dataclass, field
from typing import Annotated

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import RequestError
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values.frozen import Secret, to_plain


@dataclass
class Login:
    pin: Annotated[str, Sensitive] = ""


@dataclass
class Options:
    size: int = 1
    names: list[str] = field(default_factory=list)


def make(rate: float = 1.0, opts: object = None, pin: Annotated[str, Sensitive] = "", **more):
    return rate


@pytest.fixture
def chain():
    for tag in ("slow", "fast", "old"):
        repl_pair.tag(tag)
    repl_pair.mode("eur", args={"rate": 2.0, "opts": {"b": 2}}, axis="currency")
    repl_pair.mode("usd", args={"rate": 3.0}, axis="currency")
    repl_pair.decorator("clock", kind="frame_setup", init=[["tick", {}]])
    repl_pair.decorator("mail", kind="fx_override", effect="mail", response=1)
    repl_pair.decorator("around", wrap=lambda component: component)
    repl_pair.loader("db")(lambda: 1)
    repl_pair.loader("net")(lambda: 1)
    repl_pair.derived("done")(lambda state: True)
    repl_pair.story(
        "x.make",
        component=make,
        args={"opts": {"a": 1, "b": 1}},
        tags=["slow", "old"],
        decorators=["around"],
    )
    repl_pair.variant(
        "x.make/Root",
        args={"rate": 5.0, "go": 1},
        args_to_events={"go": "move"},
        events=[["add", {"qty": 1}]],
        loaders=["db"],
        tags=["fast", "!old"],
        play=[check.path_equals("result", 9)],
    )
    repl_pair.variant(
        "x.make/Child",
        extends="x.make/Root",
        args={"opts": {"c": 3}},
        events=[["add", {"qty": 2}]],
        loaders=["net", "db"],
        loaders_complete_when="done",
        loaders_teardown=["close"],
        tags=["!fast"],
        decorators=["clock", ["mail", {"response": 2}]],
        plays={"first": [check.no_warnings()], "second": []},
    )
    repl_pair.global_args(rate=9.0, unknown=1)
    repl_pair.global_decorators("mail")
    yield
    STORE.set("global_args", {})
    STORE.set("global_decorators", ())


def test_everything_of_a_run_is_named_with_its_source(chain):
    assert repl_pair.explain("x.make/Child", modes=["eur"], overrides={"rate": 7.0}) == {
        "variant_id": "x.make/Child",
        "modes": ["eur"],
        "chain": ["x.make/Root", "x.make/Child"],
        "rules": {
            "args": "laid over each other deep, the child wins",
            "events": "all, the root's first",
            "args_to_events": "laid over each other, the child wins",
            "loaders": "all, the root's first, each once",
            "tags": "all, the root's first; !tag takes out what came before",
        },
        "args": [
            {
                "path": "rate",
                "value": 7.0,
                "source": "overrides",
                "covers": [
                    {"source": "variant x.make/Root", "value": 5.0},
                    {"source": "mode eur", "value": 2.0},
                    {"source": "global", "value": 9.0},
                ],
            },
            {"path": "opts.a", "value": 1, "source": "story x.make"},
            {
                "path": "opts.b",
                "value": 2,
                "source": "mode eur",
                "covers": [{"source": "story x.make", "value": 1}],
            },
            {"path": "opts.c", "value": 3, "source": "variant x.make/Child"},
            {"path": "go", "value": 1, "source": "variant x.make/Root"},
        ],
        "tags": [{"id": "slow", "source": "story x.make"}],
        "removed_tags": [
            {"id": "old", "source": "story x.make", "removed_by": "variant x.make/Root"},
            {"id": "fast", "source": "variant x.make/Root", "removed_by": "variant x.make/Child"},
        ],
        "decorators": [
            {"id": "mail", "kind": "fx_override", "args": {}, "source": "global"},
            {"id": "around", "kind": "wrap", "args": {}, "source": "story x.make"},
            {"id": "clock", "kind": "frame_setup", "args": {}, "source": "variant x.make/Child"},
            {
                "id": "mail",
                "kind": "fx_override",
                "args": {"response": 2},
                "source": "variant x.make/Child",
            },
        ],
        "loaders": [
            {"id": "db", "source": "variant x.make/Root"},
            {"id": "net", "source": "variant x.make/Child"},
        ],
        "loaders_complete_when": {"value": "done", "source": "variant x.make/Child"},
        "loaders_teardown": [{"event": ["close", {}], "source": "variant x.make/Child"}],
        "events": [
            {"event": ["tick", {}], "source": "decorator clock"},
            {"event": ["move", {"go": 1}], "source": "args"},
            {"event": ["add", {"qty": 1}], "source": "variant x.make/Root"},
            {"event": ["add", {"qty": 2}], "source": "variant x.make/Child"},
        ],
        "plays": [{"name": "first", "steps": 1}],
        "argtypes": [],
        "declared_modes": [],
        "substrates": {},
        "substrate": {"value": "text", "source": "default"},
        "conflicts": [],
    }


def test_argtypes_declared_modes_and_renderings_are_named_with_their_sources():
    for name in ("eur", "usd", "late"):
        repl_pair.mode(name, args={})
    repl_pair.story(
        "x.make",
        component=make,
        argtypes={"rate": {"min": 0, "max": 9}, "pin": {"doc": "Four digits"}},
        modes=["eur", "usd"],
        substrates=["html", "png"],
    )
    repl_pair.variant("x.make/Root", argtypes={"rate": {"max": 5}}, modes=["late", "eur"])
    repl_pair.variant("x.make/Child", extends="x.make/Root", substrates=["png"])
    seen = repl_pair.explain("x.make/Child")
    assert seen["argtypes"] == [
        {"path": "rate.min", "value": 0, "source": "story x.make"},
        {
            "path": "rate.max",
            "value": 5,
            "source": "variant x.make/Root",
            "covers": [{"source": "story x.make", "value": 9}],
        },
        {"path": "pin", "value": Secret({"doc": "Four digits"}), "source": "story x.make"},
    ]
    assert seen["declared_modes"] == [
        {"id": "eur", "source": "story x.make"},
        {"id": "usd", "source": "story x.make"},
        {"id": "late", "source": "variant x.make/Root"},
    ]
    assert seen["substrates"] == {"value": ("png",), "source": "variant x.make/Child"}
    assert seen["substrate"] == {"value": "png", "source": "variant x.make/Child"}
    above = repl_pair.explain("x.make/Root")
    assert above["substrates"] == {"value": ("html", "png"), "source": "story x.make"}
    assert above["substrate"] == {"value": "html", "source": "story x.make"}


def test_what_would_keep_a_run_from_being_is_listed_all_at_once(chain):
    repl_pair.variant(
        "x.make/Torn",
        decorators=["around", ["mail", {"response": 1}], "clock"],
        loaders=["net"],
        tags=["fast"],
        play=[check.derived_equals("done", True)],
    )
    for kind, id in (
        ("decorator", "clock"),
        ("loader", "net"),
        ("tag", "fast"),
        ("derived", "done"),
    ):
        REGISTRY.unregister(kind, id)
    repl_pair.decorator("mail", kind="frame_setup", init=["tick"])
    seen = repl_pair.explain("x.make/Torn", modes=["eur", "usd", "eru"])
    assert seen["conflicts"] == [
        "There is no mode 'eru'. Nearest: eur.",
        "Modes 'eur' and 'usd' share the axis 'currency': choose one.",
        "There is no decorator 'clock'.",
        "Decorator 'mail': a frame_setup takes no args, not response.",
        "Decorator 'around' would wrap the component twice.",
        "There is no loader 'net'.",
        "There is no derived 'done': none is registered.",
    ]
    assert [line["kind"] for line in seen["decorators"]][-1] == "unknown"


def test_a_broken_chain_is_explained_as_far_as_it_goes(chain):
    REGISTRY.unregister("variant", "x.make/Root")
    seen = repl_pair.explain("x.make/Child")
    assert seen["chain"] == ["x.make/Child"]
    assert seen["substrate"] == {}
    assert "There is no variant 'x.make/Root'" in seen["conflicts"][0]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [({"opts": print}, "overrides: args.opts"), ({"rate": {"a": 1}}, None)],
)
def test_overrides_that_do_not_fit_are_a_conflict(chain, overrides, words):
    seen = repl_pair.explain("x.make/Root", overrides=overrides)
    assert seen["conflicts"] == [] if words is None else words in seen["conflicts"][0]


def test_what_is_not_there_at_all_is_refused(chain):
    with pytest.raises(RequestError, match=r"Nearest: x\.make/Root"):
        repl_pair.explain("x.make/Roots")
    REGISTRY.unregister("story", "x.make")
    with pytest.raises(RequestError, match="no longer registered"):
        repl_pair.explain("x.make/Root")


def test_a_mapping_over_a_number_replaces_it_whole(chain):
    repl_pair.mode("flat", args={"opts": 5})
    repl_pair.variant("x.make/Deep", args={"opts": {"c": 3}})
    (line,) = [
        line
        for line in repl_pair.explain("x.make/Deep", modes=["flat"])["args"]
        if line["path"].startswith("opts")
    ]
    assert line == {
        "path": "opts",
        "value": {"c": 3},
        "source": "variant x.make/Deep",
        "covers": [
            {"source": "mode flat", "value": 5},
            {"source": "story x.make", "value": {"a": 1, "b": 1}},
        ],
    }


def test_the_fields_of_an_instance_have_sources_of_their_own(chain):
    repl_pair.variant("x.make/Record", args={"opts": Options(size=2)})
    repl_pair.variant("x.make/Sized", extends="x.make/Record", args={"opts": {"size": 3}})
    lines = {line["path"]: line for line in repl_pair.explain("x.make/Sized")["args"]}
    assert lines["opts.size"]["source"] == "variant x.make/Sized"
    assert lines["opts.size"]["covers"][0] == {"source": "variant x.make/Record", "value": 2}
    assert lines["opts.names"] == {
        "path": "opts.names",
        "value": [],
        "source": "variant x.make/Record",
    }


def test_a_secret_stays_one_wherever_it_stands(chain):
    repl_pair.mode("keyed", args={"pin": "plain-in-the-mode", "token": "by-its-name"})
    repl_pair.variant("x.make/Pinned", args={"pin": "sEcret-pin-1", "token": "other-one"})
    lines = {
        line["path"]: line for line in repl_pair.explain("x.make/Pinned", modes=["keyed"])["args"]
    }
    for name in ("pin", "token"):
        assert type(lines[name]["value"]) is Secret
        assert [type(under["value"]) for under in lines[name]["covers"]] == [Secret]


def test_a_value_that_is_covered_hides_what_its_own_hint_calls_secret(chain):
    def sign_in(login: Login | int = 0):
        return login

    repl_pair.mode("keyed", args={"login": {"pin": "plain-in-the-mode"}})
    repl_pair.story("x.sign", component=sign_in)
    repl_pair.variant("x.sign/Number", args={"login": 5})
    (line,) = repl_pair.explain("x.sign/Number", modes=["keyed"])["args"]
    assert (line["path"], line["value"]) == ("login", 5)
    assert type(line["covers"][0]["value"]["pin"]) is Secret


ARGS = st.recursive(
    st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)
LAYERS = st.dictionaries(st.sampled_from(["x", "y"]), ARGS, max_size=2)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=LAYERS, mode=LAYERS, root=LAYERS, child=LAYERS, overrides=LAYERS)
def test_what_is_explained_is_what_is_planned(registries, story, mode, root, child, overrides):
    undo = registries.checkpoint()
    repl_pair.mode("m", args=mode)
    repl_pair.story("law.of", component=lambda **more: None, args=story)
    repl_pair.variant("law.of/Root", args=root)
    repl_pair.variant("law.of/Child", extends="law.of/Root", args=child)
    seen = repl_pair.explain("law.of/Child", modes=["m"], overrides=overrides)["args"]
    plan = plan_variant("law.of/Child", modes=["m"], overrides=overrides)
    given = {
        "story law.of": story,
        "mode m": mode,
        "variant law.of/Root": root,
        "variant law.of/Child": child,
        "overrides": overrides,
    }
    planned = to_plain(plan.args)
    assert sum(_leaves(line["value"]) for line in seen) == sum(map(_leaves, planned.values()))
    for line in seen:
        assert _at(planned, line["path"]) == line["value"]
        assert _at(given[line["source"]], line["path"]) is not None
    undo()


def _at(value, path):
    for key in path.split("."):
        value = value[key]
    return value


def _leaves(value):
    return sum(map(_leaves, value.values())) if isinstance(value, dict) and value else 1
