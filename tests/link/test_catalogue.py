"""The reading ops of the catalogue, over a link: what they answer when it has gone out."""

import json

import pytest

from repl_pair.errors import next_step
from repl_pair.wire import REDACTED, View

pytestmark = pytest.mark.anyio

SHOP = """\
import repl_pair
from decimal import Decimal
from typing import Annotated
from repl_pair import Sensitive, check

RAN = []
repl_pair.mode("eur", args={"rate": Decimal("2.5")}, axis="currency")
repl_pair.loader("db")(lambda: 1)

@repl_pair.decorator("keyed")
def keyed(token=""):
    yield

@repl_pair.story("shop.quote", args={"rate": Decimal("1.0")},
                 decorators=[["keyed", {"token": "qwertz-9-uiop"}]])
def quote(n: int = 1, rate: Decimal = Decimal(1), pin: Annotated[str, Sensitive] = "",
          deep: object = None):
    RAN.append(n)
    return {"total": n * rate}

repl_pair.variant("shop.quote/One", args={"n": 3, "pin": "hunter2-and-more"},
                  play=[check.path_equals("result.total", 9),
                        check.path_equals("args.pin", "guess")])

@repl_pair.story("shop.table")
def table(n: int = 2):
    class Table:
        def _repr_html_(self): return "<b>" + "x" * n + "</b>"
        def _repr_mimebundle_(self, **_):
            return {"text/plain": "x" * n, "application/json": {"n": n}, "application/x-odd": 1}
    if n < 0:
        raise ValueError("no rows")
    return Table()

repl_pair.variant("shop.table/Two")
repl_pair.variant("shop.table/None", args={"n": -1}, play=[check.raises("ValueError")])
deep = "end"
for n in range(20):
    deep = [deep] if n % 2 else {"k": deep}
repl_pair.variant("shop.quote/Deep", args={"deep": {"nest": deep, "wide": list(range(300)),
                                                    "long": "y" * 5000}})
repl_pair.variant("shop.quote/Child", extends="shop.quote/One", args={"n": 4})
"""


async def test_a_preview_shows_what_is_rendered_and_gives_no_verdict(link):
    await link.define(SHOP)
    reply = await link.ask("preview_variant", variant_id="shop.table/Two")
    found = reply["result"]
    assert found.pop("elapsed_ms") >= 0
    identity = await link.get("snapshot_identity", variant_id="shop.table/Two")
    assert [phase["phase"] for phase in found.pop("phases")] == [
        "setup",
        "load",
        "events",
        "render",
        "teardown",
    ]
    assert found.pop("result") is not None
    assert found == {
        "variant_id": "shop.table/Two",
        "rendered": True,
        "asserted": False,
        "text": "xx",
        "effective_args": {},
        "identity": identity,
        "outputs": [{"text/plain": "xx", "text/html": "<b>xx</b>", "application/json": {"n": 2}}],
    }
    assert reply["next_steps"] == [next_step("run_variant", variant_id="shop.table/Two")]


async def test_a_preview_leaves_the_last_result_as_it_is(link):
    await link.define(SHOP)
    await link.run("shop.quote/One")
    before = await link.get("read_assertions", variant_id="shop.quote/One")
    assert before["status"] == "fail"
    found = await link.get("preview_variant", variant_id="shop.quote/One", overrides={"n": 5})
    assert found["result"] == {"total": "5.0"}
    assert found["effective_args"] == {"rate": "1.0", "n": 5, "pin": REDACTED}
    assert await link.get("read_assertions", variant_id="shop.quote/One") == before
    assert (await link.get("tests_passing", story_id="shop.table"))["status"] == "cannot_run"


@pytest.mark.parametrize("plays", ["play=[step.set('n', 9)]", "plays={'x': [step.set('n', 9)]}"])
async def test_a_preview_plays_nothing(link, plays):
    await link.define(SHOP)
    await link.define(f"""
from repl_pair import step
@repl_pair.story("shop.count", state=vars)
class Count:
    def __init__(self, n: int = 1): self.n = n
repl_pair.variant("shop.count/One", {plays})
""")
    assert (await link.run("shop.count/One"))["state"] == {"n": 9}
    found = await link.get("preview_variant", variant_id="shop.count/One")
    assert found["state"] == {"n": 1}
    assert found["identity"] == await link.get("snapshot_identity", variant_id="shop.count/One")


async def test_a_preview_states_why_nothing_was_rendered(link):
    await link.define(SHOP)
    raised = await link.get("preview_variant", variant_id="shop.table/None")
    assert (raised["rendered"], raised["reason"]) == (False, "ValueError: no rows")
    assert "status" not in raised
    refused = await link.ask(
        "preview_variant", variant_id="shop.quote/One", overrides={"pin": "guess-it-now"}
    )
    assert refused["result"]["rendered"] is False
    assert "holds a secret" in refused["result"]["reason"]
    unknown = await link.refusal("preview_variant", variant_id="shop.table/Tow")
    assert "Nearest: shop.table/Two" in unknown["message"]


async def test_an_explanation_reports_sources_and_no_secret(link):
    await link.define(SHOP)
    reply = await link.ask("explain_variant", variant_id="shop.quote/Child", modes=["eur"])
    assert "qwertz" not in json.dumps(reply)
    assert reply["redacted"] == 2
    assert reply["result"]["decorators"] == [
        {
            "id": "keyed",
            "kind": "wrap",
            "args": {"token": REDACTED},
            "source": "story shop.quote",
        }
    ]
    assert reply["result"]["args"] == [
        {
            "path": "rate",
            "value": "2.5",
            "source": "mode eur",
            "covers": [{"source": "story shop.quote", "value": "1.0"}],
        },
        {
            "path": "n",
            "value": 4,
            "source": "variant shop.quote/Child",
            "covers": [{"source": "variant shop.quote/One", "value": 3}],
        },
        {"path": "pin", "value": REDACTED, "source": "variant shop.quote/One"},
    ]
    guess = await link.refusal(
        "explain_variant", variant_id="shop.quote/One", overrides={"pin": "guess-it-now"}
    )
    assert guess["code"] == "cannot_run"


async def test_data_goes_out_uncut_and_without_secrets(link):
    await link.define(SHOP)
    reply = await link.ask("variant_to_data", variant_id="shop.quote/Deep")
    assert "elided" not in reply
    body = reply["result"]["body"]["args"]["deep"]
    assert (len(body["wide"]), len(body["long"])) == (300, 5000)
    assert json.dumps(body["nest"]).count("[") == 10
    secret = await link.ask("variant_to_data", variant_id="shop.quote/One")
    assert secret["redacted"] == 2
    assert secret["result"] == {
        "id": "shop.quote/One",
        "body": {
            "args": {"n": 3, "pin": REDACTED},
            "play": [
                ["path_equals", "result.total", 9],
                ["path_equals", "args.pin", REDACTED],
            ],
        },
    }


async def test_what_a_variant_extends_makes_its_args_secret_too(link):
    await link.define(SHOP)
    await link.define(
        "repl_pair.variant('shop.quote/Guess', extends='shop.quote/One', "
        "play=[check.path_equals('args.pin', 'guess-9-word')])"
    )
    reply = await link.ask("get_variant", variant_id="shop.quote/Guess")
    assert reply["result"]["play"] == [["path_equals", "args.pin", REDACTED]]
    # What a play expects is hidden there and never learned, so that it can hide nothing else.
    await link.define("repl_pair.tag('t', doc='It is guess-9-word.')")
    tags = await link.get("list_tags", limit=200)
    assert next(tag for tag in tags["items"] if tag["id"] == "t")["doc"] == "It is guess-9-word."


TYPED = """
repl_pair.handler("add")(lambda live, **payload: None)
repl_pair.variant(
    "shop.quote/Typed",
    args={
        "n": 2,
        "rate": Decimal("1.50"),
        "deep": {"a": (1, 2), "s": {"x", "y"}, 3: repl_pair.ref("db")},
    },
    args_to_events={"n": "add"},
    loaders=["db"],
    plays={"b": [], "a": [check.path_equals("result.total", Decimal("1.5"))]},
    tags=["docs"],
)
repl_pair.workspace("shop.desk/Main", layout="tabs", variants=["shop.quote/Typed"])
"""


async def test_data_is_taken_as_a_body_as_it_stands(link):
    writer = View(principal="agent", access=frozenset({"read", "run", "write"}))
    await link.define(SHOP)
    await link.define(TYPED)
    for kind, id in (("variant", "shop.quote/Typed"), ("workspace", "shop.desk/Main")):
        slot = {f"{kind}_id": id}
        body = (await link.get(f"{kind}_to_data", **slot))["body"]
        before = await link.get("snapshot_identity", variant_id="shop.quote/Typed")
        await link.get(f"register_{kind}", view=writer, body=body, **{f"{kind}_id": f"{id}_2"})
        again = (await link.get(f"{kind}_to_data", **{f"{kind}_id": f"{id}_2"}))["body"]
        assert json.dumps(again) == json.dumps(body)
    after = await link.get("snapshot_identity", variant_id="shop.quote/Typed_2")
    assert after["code_hash"] == before["code_hash"]
