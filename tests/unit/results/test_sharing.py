import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any

import pytest

import repl_pair
from repl_pair import Sensitive, ref
from repl_pair.errors import RequestError
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.sharing import Share

HERE = "defined in this session"


class Grade(Enum):
    GOLD = "g"


class Size(IntEnum):
    XL = 3


@dataclass
class Line:
    sku: str
    price: Decimal = Decimal("1.50")


def quote(
    lines: list[Line] = [],  # noqa: B006  never changed
    rate: float = 1.0,
    day: date | None = None,
    grade: Grade = Grade.GOLD,
    sizes: tuple[int, ...] = (),
    pin: Annotated[str, Sensitive] = "",
    anything: Any = None,
):
    return {"total": len(lines) * rate, "rest": [day, grade, sizes, pin, anything]}


def stock() -> Iterator[list[Line]]:
    yield [Line("a")]


@pytest.fixture
def shop():
    repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")
    repl_pair.mode("two", args={"rate": 3.0})
    repl_pair.story("shop.quote", component=quote)
    repl_pair.variant("shop.quote/One")
    repl_pair.workspace("shop.board/All", layout="grid", variants=["shop.quote/One"])


@pytest.fixture
def session_module(module, shop):
    """A component as a notebook cell defines it."""
    made = module("shop_cell", "def local(n=1):\n    return n\n")
    made.local.__module__ = "__main__"
    return made


def register_in_cell(kind, id):
    body = REGISTRY.get(kind, id).body
    REGISTRY.register(kind, id, body, origin=Origin(key="cell:c1", label="In[4]", line=1, run=4))


@pytest.mark.usefixtures("shop")
def test_a_variant_of_a_module_is_fully_reproducible_from_its_id():
    assert repl_pair.share("shop.quote/One") == Share(
        url="repl-pair:notebook?variant=shop.quote/One", label="fully"
    )


@pytest.mark.usefixtures("shop")
def test_modes_keep_the_order_in_which_they_are_laid_over_each_other():
    one, other = (
        repl_pair.share("shop.quote/One", modes=m) for m in (["two", "eur"], ["eur", "two"])
    )
    assert one.url == "repl-pair:notebook?variant=shop.quote/One&modes=two,eur"
    assert one.url != other.url
    for shared in (one, other):
        link = repl_pair.parse_share_url(shared.url).link
        seen = repl_pair.snapshot_identity(link.variant, modes=link.modes)
        assert shared.url.endswith(",".join(seen.active_modes))


@pytest.mark.usefixtures("shop")
def test_overrides_travel_as_json_and_come_back_as_the_component_takes_them():
    given = {
        "lines": [Line("a", Decimal("2.50")), Line("b")],
        "rate": 2.5,
        "day": date(2026, 1, 2),
        "grade": Grade.GOLD,
        "sizes": (1, 2),
    }
    shared = repl_pair.share("shop.quote/One", overrides=given)
    link = repl_pair.parse_share_url(shared.url).link
    assert link.overrides == {
        "lines": [{"sku": "a", "price": "2.50"}, {"sku": "b", "price": "1.50"}],
        "rate": 2.5,
        "day": "2026-01-02",
        "grade": "GOLD",
        "sizes": [1, 2],
    }
    assert shared.label == "partly"
    assert shared.reasons == ("overrides (day, grade, lines, rate, sizes) stand in the link only",)
    record = repl_pair.run("shop.quote/One", overrides=link.overrides)
    taken = [given["day"], given["grade"], given["sizes"], "", None]
    assert record.result == {"total": 5.0, "rest": taken}


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Decimal("1.5"), "a Decimal does not come back from JSON as it was"),
        (Size.XL, "a Size does not come back from JSON as it was"),
        (b"raw", "a bytes is not JSON"),
        (float("nan"), "nan is not a number of JSON"),
        ("\ud800", "it holds half of a surrogate pair, which is not valid text"),
        ({1: 2}, "a dict is not JSON"),
    ],
)
def test_an_override_that_json_cannot_bring_back_is_left_out_and_reported(value, why):
    shared = repl_pair.share("shop.quote/One", overrides={"anything": value, "rate": 2.0})
    assert repl_pair.parse_share_url(shared.url).link.overrides == {"rate": 2.0}
    assert (shared.label, shared.reasons[0]) == (
        "view-only",
        f"override anything is left out: {why}",
    )


@pytest.mark.usefixtures("shop")
def test_what_a_loader_makes_is_no_part_of_a_link():
    repl_pair.loader("stock")(stock)
    repl_pair.variant("shop.quote/Stock", args={"lines": ref("stock")})
    made_anew = "what loader stock makes is made anew by whoever opens it"
    shared = repl_pair.share("shop.quote/Stock")
    assert (shared.label, shared.reasons) == ("partly", (made_anew,))
    shared = repl_pair.share("shop.quote/One", overrides={"lines": ref("stock")})
    assert shared.label == "view-only"
    assert shared.reasons[0].startswith("override lines is left out: ")
    assert "overrides" not in shared.url


@pytest.mark.usefixtures("shop")
def test_a_secret_among_the_args_makes_it_view_only_and_travels_only_as_the_persons_override():
    repl_pair.variant("shop.quote/Pin", args={"pin": "pin-4711-zkQ8"})
    shared = repl_pair.share("shop.quote/Pin")
    assert shared.label == "view-only"
    assert shared.reasons == ("pin is a secret, which no link gives away",)
    assert "pin" not in shared.url
    shared = repl_pair.share("shop.quote/One", overrides={"pin": "pin-4711-zkQ8"})
    assert repl_pair.parse_share_url(shared.url).link.overrides == {"pin": "pin-4711-zkQ8"}
    assert shared.label == "view-only"


def test_a_component_of_this_session_is_view_only(session_module):
    repl_pair.story("shop.local", component=session_module.local)
    repl_pair.variant("shop.local/One")
    shared = repl_pair.share("shop.local/One", overrides={"n": 2})
    assert shared.label == "view-only"
    assert HERE in shared.reasons[0]
    assert shared.reasons[1] == "overrides (n) stand in the link only"
    assert shared.reasons[2].startswith("the source of what runs is not to be had")
    repl_pair.loader("here")(session_module.local)
    repl_pair.variant("shop.quote/Here", loaders=["here"])
    shared = repl_pair.share("shop.quote/Here")
    assert (shared.label, HERE in shared.reasons[0]) == ("view-only", True)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("kind", "id", "label"),
    [
        ("mode", "eur", "partly"),
        ("workspace", "shop.board/All", "partly"),
        ("variant", "shop.quote/One", "view-only"),
        ("story", "shop.quote", "view-only"),
    ],
)
def test_what_only_a_cell_registers_is_not_everybodys(kind, id, label):
    def shared():
        return repl_pair.share("shop.quote/One", modes=["eur"], workspace="shop.board/All")

    assert shared().label == "fully"
    with pytest.warns(UserWarning, match="was registered by"):
        register_in_cell(kind, id)
    assert (shared().label, shared().reasons) == (
        label,
        (f"{kind} {id} is registered by In[4], not by a module",),
    )


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"variant_id": "shop.quote/On"}, "Nearest: shop.quote/One"),
        ({"modes": ["eu"]}, "There is no mode 'eu'. Nearest: eur"),
        ({"workspace": "shop.board/Al"}, "Nearest: shop.board/All"),
        ({"tag_filter": ["tes"]}, "There is no tag 'tes'"),
        ({"tab": "prod"}, "There is no tab 'prod': dev, docs, test"),
        ({"overrides": {"rat": 1}}, "Nearest: rate"),
        ({"base_url": "file:///etc"}, "base_url begins with"),
        ({"overrides": {"anything": "x" * 70_000}}, "register them as a variant"),
    ],
)
def test_what_does_not_exist_is_refused_before_a_link_states_it(args, text):
    with pytest.raises(RequestError, match=text.replace("(", "\\(")):
        repl_pair.share(**{"variant_id": "shop.quote/One"} | args)


@pytest.mark.usefixtures("shop")
def test_a_share_is_shown_as_text_and_as_html_that_nothing_breaks_out_of():
    shared = repl_pair.share(
        "shop.quote/One", overrides={"rate": 2.0}, base_url="http://h/<b>\"'&x"
    )
    assert str(shared).splitlines() == [
        shared.url,
        "reproducible: partly",
        "- overrides (rate) stand in the link only",
    ]
    shown = shared._repr_html_()
    assert "<b>partly</b>" in shown
    assert '<b>"' not in shown
    assert shown.count('"') == 2


@pytest.mark.usefixtures("shop")
def test_the_qr_code_is_svg_text_that_is_equal_each_time():
    shared = repl_pair.share("shop.quote/One")
    code = shared.qr()
    assert code.startswith("<svg ")
    assert code._repr_svg_() == shared.qr()
    assert code != repl_pair.share("shop.quote/One", modes=["eur"]).qr()


@pytest.mark.usefixtures("shop")
def test_a_qr_code_that_cannot_be_drawn_states_what_to_do(monkeypatch):
    long = repl_pair.share("shop.quote/One", overrides={"anything": "x" * 3000})
    with pytest.raises(RequestError, match="too many for a QR code: share fewer overrides"):
        long.qr()
    monkeypatch.setitem(sys.modules, "segno", None)
    with pytest.raises(RequestError, match="pip install segno"):
        repl_pair.share("shop.quote/One").qr()
