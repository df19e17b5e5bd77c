from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Annotated

import pydantic
import pytest

import repl_pair
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_variants
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.frozen import Ref, Secret
from repl_pair.wire import View


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal


def quote(lines: list[Line], rate: float = 1.0, key: Annotated[str, repl_pair.Sensitive] = ""):
    """Quote an order."""
    return sum(line.price for line in lines)


@pytest.fixture
def story():
    return repl_pair.story("shop.quote", component=quote, args={"rate": 2.0})


def body(kind, id):
    return REGISTRY.get(kind, id).body


def test_story_as_a_decorator_returns_the_function_unchanged():
    def component():
        """Doc of it."""

    assert repl_pair.story("a")(component) is component
    assert body("story", "a").doc == "Doc of it."
    assert body("story", "a").component.resolve() is component


class Model(pydantic.BaseModel):
    n: int = 1


class Documented(Model):
    """Mine."""


@pytest.mark.parametrize(
    ("component", "doc"),
    [
        (Model, ""),
        (type("Below", (Documented,), {}), "Mine."),
        (namedtuple("Point", "x y"), ""),
        (Line, ""),
        (partial(quote, rate=2.0), "Quote an order."),
        (lru_cache(quote), "Quote an order."),
    ],
)
def test_the_doc_of_a_story_is_one_that_somebody_wrote_for_it(component, doc):
    repl_pair.story("a", component=component)
    assert body("story", "a").doc == doc


def test_a_story_without_an_id_takes_it_from_its_function(module):
    def total(n=1):
        return n

    assert repl_pair.story(quote) is quote
    assert repl_pair.story(total, tags=["test"]) is total
    made = module("pricing.rules", "import repl_pair\n@repl_pair.story\ndef rule(): ...")
    total.__module__ = "__main__"  # as in a notebook
    repl_pair.story(total)
    ids = ["total", f"{__name__}.quote", f"{__name__}.total", "pricing.rules.rule"]
    assert sorted(REGISTRY.ids("story")) == sorted(ids)
    assert body("story", "pricing.rules.rule").component.resolve() is made.rule
    assert body("story", f"{__name__}.total").tags == ("test",)


def test_every_other_registration_returns_a_handle_that_is_its_id(story):
    handles = [
        story,
        repl_pair.variant("shop.quote/A", args={"lines": []}),
        repl_pair.mode("currency/eur", args={"rate": 1.1}),
        repl_pair.tag("slow"),
        repl_pair.loader("lines")(list),
        repl_pair.assertion("even")(lambda settled: True),
    ]
    assert handles == ["shop.quote", "shop.quote/A", "currency/eur", "slow", "lines", "even"]
    assert [h.kind for h in handles] == ["story", "variant", "mode", "tag", "loader", "assertion"]
    assert story._repr_html_() == "<code>story</code> <b>shop.quote</b>"


def test_a_handle_is_taken_wherever_an_id_is(story):
    slow = repl_pair.tag("slow")
    lines = repl_pair.loader("lines")(list)
    even = repl_pair.assertion("even")(lambda settled: True)
    repl_pair.variant(
        f"{story}/A",
        args={"lines": repl_pair.ref(lines, n=2)},
        tags=[slow],
        loaders=[lines],
        play=[[even]],
    )
    found = body("variant", "shop.quote/A")
    assert found.tags == ("slow",)
    assert found.loaders == ("lines",)
    assert found.play == (["even"],)
    assert found.args == {"lines": Ref("lines", {"n": 2})}


def test_a_dataclass_and_the_mapping_that_describes_it_are_kept_alike(story):
    repl_pair.variant("shop.quote/A", args={"lines": [Line("a", Decimal(2))]})
    repl_pair.variant("shop.quote/B", args={"lines": [{"sku": "a", "price": Decimal(2)}]})
    assert body("variant", "shop.quote/A").args == body("variant", "shop.quote/B").args


def test_what_is_registered_is_not_reached_by_later_edits_of_it(story):
    lines = [{"sku": "a", "price": Decimal(2)}]
    repl_pair.variant("shop.quote/A", args={"lines": lines})
    lines[0]["sku"] = "b"
    lines.append({})
    assert body("variant", "shop.quote/A").args == {"lines": [{"sku": "a", "price": Decimal(2)}]}


def test_a_secret_argument_is_kept_live_marked_and_known_to_egress(story):
    repl_pair.variant("shop.quote/A", args={"lines": [], "key": "pk-live-8f3a91"})
    assert body("variant", "shop.quote/A").args["key"] == Secret("pk-live-8f3a91")
    assert NEEDLES.scrub("it is pk-live-8f3a91!") == ("it is [redacted]!", 1)


IS_WINDOWS = Ref("is_windows")
MARKS = [
    (
        pytest.mark.skipif(IS_WINDOWS, reason="x"),
        r"mark skipif\[0\] holds a ref, .*condition as text",
    ),
    (pytest.mark.xfail(raises=IS_WINDOWS), r"mark xfail\.raises holds a ref"),
    (
        pytest.mark.usefixtures("a", IS_WINDOWS),
        r"usefixtures\[1\] .*fixture by its name",
    ),
    (["takes", [], {"deep": [{"in": (IS_WINDOWS,)}]}], r"mark takes\.deep holds a ref"),
    (
        pytest.mark.xfail(raises=ValueError),
        r"^(?!.*loader).*mark xfail\.raises is no plain data\. .*pytestmark",
    ),
]


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (
            lambda: repl_pair.variant("shop.qoute/A"),
            "not_found",
            r"no story 'shop\.qoute'\. Nearest: shop\.quote",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", args={"lnes": []}),
            "bad_body",
            r"takes no argument 'lnes'\. Nearest: lines\. It takes: lines, rate, key",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", args={"lines": [print]}),
            "bad_body",
            r"args\.lines\[0\].*ref\(",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", play=["path_equals"]),
            "bad_body",
            "a step of a play is a list headed by its name",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", play=[["path_equal", "result", 1]]),
            "not_found",
            "no step 'path_equal'. Nearest: path_equals",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", tags=["in work"]),
            "bad_id",
            "'in work' is not a valid tag id",
        ),
        (lambda: repl_pair.variant("shop.quote/A", tags="test"), "bad_body", r"\['test'\]"),
        (lambda: repl_pair.variant("shop.quote"), "bad_id", "valid variant id"),
        (lambda: repl_pair.ref("nope"), "not_found", "no loader 'nope'"),
        (lambda: repl_pair.story("x", component=3), "bad_body", "not a function or class"),
        (lambda: repl_pair.story("x", component=int), "bad_body", "int does not say what it takes"),
        (lambda: repl_pair.mode("m", args={"f": print}), "bad_body", r"args\.f"),
        (
            lambda: repl_pair.variant("shop.quote/A", args=[1]),
            "bad_body",
            "args is a mapping of names to values, not a list",
        ),
        (
            lambda: repl_pair.variant("shop.quote/A", argtypes="rate"),
            "bad_body",
            "argtypes is a mapping of names to values, not a str",
        ),
        (
            lambda: repl_pair.check.path_matches("result", "x"),
            "bad_body",
            "the schema is a mapping of names to values, not a str",
        ),
        *[
            (partial(getattr(repl_pair, kind), 3), "bad_id", f"3 is not a valid {kind} id")
            for kind in ("story", "loader", "assertion", "handler", "derived", "decorator")
        ],
        *[
            (partial(repl_pair.variant, "shop.quote/A", marks=[mark]), "bad_body", place)
            for mark, place in MARKS
        ],
        (lambda: repl_pair.story(partial(quote)), "bad_id", "has no name: give the id"),
    ],
)
def test_a_wrong_body_is_refused_with_what_is_near_and_what_to_do(story, call, code, message):
    with pytest.raises(AuthoringError, match=message) as refused:
        call()
    assert refused.value.code == code
    assert list(REGISTRY.ids("variant")) == []


def test_a_component_that_is_redefined_is_the_one_that_runs(module):
    shop = module("shop_again", "import repl_pair\n@repl_pair.story('again')\ndef f(): return 1")
    repl_pair.variant("again/A")
    exec("def f(): return 2", shop.__dict__)
    assert repl_pair.run("again/A").result == 2


@pytest.mark.parametrize("id", [5, None, ["a"], b"a"])
def test_an_id_that_is_no_text_is_refused_by_name(story, id):
    registering = (
        lambda: repl_pair.story(id, component=len),
        lambda: repl_pair.variant(id),
        lambda: repl_pair.mode(id, args={}),
        lambda: repl_pair.tag(id),
        lambda: repl_pair.loader(id),
        lambda: repl_pair.assertion(id),
        lambda: repl_pair.handler(id),
        lambda: repl_pair.derived(id),
        lambda: repl_pair.effect.impl(id),
        lambda: repl_pair.decorator(id)(len),
        lambda: repl_pair.workspace(id, layout="grid"),
        lambda: repl_pair.panel(id, title="x", placement="right", render=len),
        lambda: repl_pair.fixture(id),
    )
    for register in registering:
        with pytest.raises(AuthoringError):
            register()
    asking = (repl_pair.run, repl_pair.live, repl_pair.explain, repl_pair.snapshot_identity)
    for ask in asking:
        with pytest.raises(RequestError) as refused:
            ask(id)
        assert refused.value.code == "bad_arguments"
    with pytest.raises(RequestError):
        repl_pair.run_variants([id])


def test_a_tag_need_not_be_registered_unless_tags_are_strict(story, monkeypatch):
    repl_pair.variant("shop.quote/A", tags=["wip", "!tset"])
    assert list(visible_variants(View(), None, ["wip"])) == ["shop.quote/A"]
    assert repl_pair.explain("shop.quote/A")["conflicts"] == []
    with pytest.raises(RequestError, match="no tag 'wpi'"):
        visible_variants(View(), None, ["wpi"])
    with pytest.raises(AuthoringError, match="not a valid tag id"):
        repl_pair.variant("shop.quote/B", tags=["in work"])
    monkeypatch.setattr(REGISTRY, "strict_tags", True)
    for tag in ("tset", "!tset"):
        with pytest.raises(AuthoringError, match=r"no tag 'tset'\. Nearest: test"):
            repl_pair.variant("shop.quote/B", tags=[tag])
