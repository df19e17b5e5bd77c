import base64

import pytest

import repl_pair
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.explaining import (
    get_docs_markdown,
    get_story_instructions,
    share_variant,
)
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.wire import View

TOKEN = "tok-in-an-id-42xyz"


def price(n: int = 1, api_key: str = ""):
    return n, api_key


@pytest.fixture(autouse=True)
def shop():
    repl_pair.mode("open", args={"n": 2}, doc="Shown.", tier="agent")
    repl_pair.mode("closed", args={"n": 3}, doc="Hidden.")
    repl_pair.story(
        "shop.a", component=price, modes=["open", "closed"], tags=["test"], tier="agent"
    )
    repl_pair.variant("shop.a/One", tier="agent")
    repl_pair.variant("shop.a/Two")
    repl_pair.story("shop.b", component=price)
    repl_pair.workspace("shop.board/All", layout="grid", variants=["shop.a/One"])


def agent(tier=None):
    return Call(view=View(principal="agent", tier=tier))


def test_documentation_reports_a_view_only_what_it_may_see():
    seen = get_docs_markdown(agent("agent"), "shop.a")
    assert (seen["items"], seen["total"]) == (["shop.a/One"], 1)
    assert "Shown." in seen["markdown"]
    for hidden in ("Hidden.", "`Two`", "3"):
        assert hidden not in seen["markdown"]
    for id in ("shop.b", "shop.c"):
        with pytest.raises(RequestError) as caught:
            get_docs_markdown(agent("agent"), id)
        assert caught.value.message == f"There is no story {id!r}."
    assert "Hidden." in get_docs_markdown(agent(), "shop.a")["markdown"]


def test_documentation_comes_in_pages_of_variants_that_state_how_many_are_left():
    call = agent()
    first = get_docs_markdown(call, "shop.a", limit=1)
    assert first["total"] == 2
    assert "`One`" in first["markdown"]
    assert "`Two`" not in first["markdown"]
    assert "\n1 more variants are not shown.\n" in first["markdown"]
    assert call.next_steps == [next_step("run_variant", variant_id="shop.a/One")]
    last = get_docs_markdown(agent(), "shop.a", limit=1, cursor=first["cursor"])
    assert "`Two`" in last["markdown"]
    assert "cursor" not in last
    with pytest.raises(RequestError) as caught:
        get_docs_markdown(agent(), "shop.b", limit=1, cursor=first["cursor"])
    assert caught.value.code == "stale_cursor"


@pytest.mark.parametrize("given", [{"modes": ["closed"]}, {"workspace": "shop.board/All"}])
def test_a_link_names_nothing_that_the_view_may_not_see(given):
    ((slot, value),) = given.items()
    hidden = value if isinstance(value, str) else value[0]
    kind = slot.removesuffix("s")
    with pytest.raises(RequestError) as caught:
        share_variant(agent("agent"), "shop.a/One", **given)
    assert caught.value.message == f"There is no {kind} {hidden!r}."
    assert hidden in share_variant(agent(), "shop.a/One", **given)["url"]


@pytest.mark.parametrize("overrides", [{"api_key": "guess-1234-abcd"}, {"n": 2, "api_key": "x"}])
def test_an_agent_overrides_no_secret_by_a_link_and_the_person_may(overrides):
    with pytest.raises(RequestError, match="only the person overrides it") as caught:
        share_variant(agent(), "shop.a/One", overrides=overrides)
    assert caught.value.code == "cannot_run"
    person = Call(view=View(principal="person"))
    assert overrides["api_key"] in share_variant(person, "shop.a/One", overrides=overrides)["url"]


def test_the_qr_code_is_one_image_that_is_equal_each_time():
    call = agent()
    seen = share_variant(call, "shop.a/One", modes=["open"], qr=True)
    assert seen["url"] == "repl-pair:notebook?variant=shop.a/One&modes=open"
    (drawn,) = call.insert_raw_json(seen)["outputs"]
    assert base64.b64decode(drawn["image/png"]).startswith(b"\x89PNG")
    again = agent()
    assert again.insert_raw_json(
        share_variant(again, "shop.a/One", modes=["open"], qr=True)
    ) == call.insert_raw_json(seen)


def test_no_qr_code_is_drawn_of_a_url_that_is_redacted():
    NEEDLES.add(TOKEN)
    repl_pair.variant(f"shop.a/{TOKEN}")
    call = agent()
    seen = share_variant(call, f"shop.a/{TOKEN}", qr=True)
    assert "outputs" not in seen
    assert call.notifications == ["The URL holds a secret and is redacted: no QR code of it."]


def test_the_instructions_are_answered_whole():
    seen = get_story_instructions(agent())
    assert seen["instructions"].startswith("WORDS\nstory:")
