"""What names nothing is refused by what it was asked for: its kind, what is near, its list."""

import pytest

import repl_pair
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import next_step

pytestmark = pytest.mark.anyio

ONE = {"variant_id": "shop.total/One"}
CASES = [
    ("get_story", {"story_id": "shop.totl"}, "story 'shop.totl'. Nearest: shop.total", "stories"),
    ("get_variant", {"variant_id": "shop.total/On"}, "Nearest: shop.total/One", "variants"),
    ("run_variant", ONE | {"modes": ["eurr"]}, "There is no mode 'eurr'", "modes"),
    ("preview_variant", ONE | {"modes": ["eurr"]}, "There is no mode 'eurr'", "modes"),
    ("snapshot_identity", ONE | {"modes": ["eurr"]}, "There is no mode 'eurr'", "modes"),
    ("run_variants", {"changed": True, "modes": ["eurr"]}, "There is no mode 'eurr'", "modes"),
    ("run_variant", ONE | {"substrate": "htlm"}, "Nearest: html", "substrates"),
    ("share_variant", ONE | {"workspace": "desk"}, "There is no workspace 'desk'", "workspaces"),
    ("share_variant", ONE | {"tag_filter": ["slwo"]}, "There is no tag 'slwo'", "tags"),
    ("get_workspace", {"workspace_id": "desk"}, "There is no workspace 'desk'", "workspaces"),
    ("get_decorator", {"decorator_id": "clock"}, "There is no decorator 'clock'", "decorators"),
    ("list_stories", {"tags": ["slwo"]}, "There is no tag 'slwo'", "tags"),
    ("unregister", {"kind": "panel", "id": "x"}, "There is no panel 'x'", "panels"),
    ("unregister", {"kind": "mode", "id": "x"}, "There is no mode 'x'", "modes"),
    (
        "register_variant",
        {"variant_id": "shop.total/New", "body": {"substrates": ["htlm"]}},
        "Nearest: html",
        "substrates",
    ),
    ("get_value", {"path": "orderr.lines"}, "There is no variable 'orderr'", "variables"),
]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def session():
    repl_pair.story("shop.total", component=lambda: 1)
    repl_pair.variant("shop.total/One", plays={"quick": []})
    session = Session.direct(Policy(allow=frozenset({"inspect", "write"})))
    yield session
    await session.close()


@pytest.mark.parametrize(("op", "args", "message", "listing"), CASES)
async def test_an_unknown_thing_is_answered_with_its_own_kind(session, op, args, message, listing):
    reply = await session.call(op, args)
    refusal = reply.get("error") or {"message": reply["result"]["reason"]}
    assert message in refusal["message"]
    assert "Register a story" not in refusal["message"]
    assert reply["next_steps"][0] == next_step(f"list_{listing}")


async def test_an_unknown_play_op_or_kernel_leads_to_where_it_is_listed(session):
    play = await session.call("run_variant", ONE | {"plays": ["quik"]})
    named = await session.call("run_op", {"op": "list_mods"})
    described = await session.call("describe_op", {"op": "list_mods"})
    kernel = await session.call("list_stories", kernel="nope")
    assert "Nearest: quick" in str(play)
    assert play["next_steps"][0] == next_step("get_variant", variant_id="shop.total/One")
    for reply in (named, described):
        assert "list_modes" in reply["error"]["message"]
        assert reply["next_steps"] == [next_step("describe_op")]
    assert "No kernel 'nope'" in kernel["error"]["message"]
    assert kernel["next_steps"] == [next_step("list_kernels")]


async def test_an_illegal_id_is_refused_with_the_grammar_of_its_kind(session):
    reply = await session.call(
        "register_workspace", {"workspace_id": "desk", "body": {"layout": "grid", "variants": []}}
    )
    assert "pricing.desk/Main" in reply["error"]["message"]
    assert "story" not in reply["error"]["message"]


async def test_where_no_story_is_registered_it_is_stated_how_one_is():
    session = Session.direct(Policy())
    reply = await session.call("get_variant", {"variant_id": "shop.total/One"})
    await session.close()
    assert "Register a story in a cell" in reply["error"]["message"]
