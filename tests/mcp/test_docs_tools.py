"""The tools that tell, and give away, over the real server on a real kernel."""

import ast
import base64
import re

from repl_pair.bridge import manifest
from repl_pair.errors import next_step

SETUP = """
import repl_pair
from repl_pair import check
from typing import Annotated
from repl_pair import Sensitive

repl_pair.tag("slow", doc="Takes a | while.")
repl_pair.mode("eur", args={"rate": 2.0}, axis="currency", doc="Euros.")

@repl_pair.story("shop.quote", args={"pin": "pin-4711-zkQ8"}, modes=["eur"], tags=["slow"])
def quote(n: int = 1, rate: float = 1.0, pin: Annotated[str, Sensitive] = ""):
    "Quote an order."
    return {"total": n * rate}

repl_pair.variant("shop.quote/One", doc="One line.", play=[check.path_equals("result.total", 1)])
repl_pair.variant("shop.quote/Two", args={"n": 2}, play=[check.path_equals("result.total", 1)])

repl_pair.story("pricing.quote", component=quote)
repl_pair.variant("pricing.quote/Bulk")
repl_pair.story("shop.many", component=quote)
for number in range(120):
    repl_pair.variant(f"shop.many/V{number:03}", doc="A long text about this one. " * 10)
"""
STORY_TOOLS = {"get_docs_markdown", "get_story_instructions", "share_variant"}


def test_get_docs_markdown_reports_a_story_with_its_last_statuses(agent, kernel):
    for name in ("One", "Two"):
        agent.ask("run_variant", variant_id=f"shop.quote/{name}")
    reply = agent.ask("get_docs_markdown", story_id="shop.quote")
    text = reply["result"]["markdown"]
    assert (reply["result"]["story_id"], reply["result"]["total"]) == ("shop.quote", 2)
    assert "| `pin` | string, secret | `[redacted]` |" in text
    assert "| `slow` | Takes a \\| while. |" in text
    assert '| `eur` | currency | `{"rate": 2.0}` | Euros. |' in text
    assert "| `One` | One line. | `slow` | pass, 1 of 1 assertions |" in text
    assert "| `Two` |  | `slow` | fail, 0 of 1 assertions |" in text
    assert reply["next_steps"] == [next_step("run_variant", variant_id="shop.quote/One")]
    kernel.cell("repl_pair.variant('shop.quote/Two', args={'n': 3})")
    again = agent.ask("get_docs_markdown", story_id="shop.quote")["result"]["markdown"]
    assert "fail, 0 of 1 assertions (stale: changed since)" in again
    missed = agent.ask("get_docs_markdown", story_id="shop.quot")
    assert missed["error"]["code"] == "not_found"
    assert "shop.quote" in missed["error"]["message"]


def test_documentation_over_the_budget_states_which_part_of_it_fits(agent):
    whole = agent.ask("get_docs_markdown", story_id="shop.many", limit=200)
    assert whole["result"]["$overflow"]["kept"] == {"story_id": "shop.many", "total": 120}
    smaller = whole["next_steps"][0]
    fitting = smaller["args"]["limit"]
    part = agent.ask(smaller["op"], **smaller["args"])["result"]
    assert part["items"] == [f"shop.many/V{number:03}" for number in range(fitting)]
    more = agent.ask("get_docs_markdown", story_id="shop.many", limit=5, cursor=part["cursor"])
    assert more["result"]["items"][0] == f"shop.many/V{fitting:03}"


def test_share_variant_gives_a_url_a_label_and_a_qr_code_as_an_image(agent):
    result = agent.call("share_variant", variant_id="shop.quote/One", modes=["eur"], qr=True)
    seen = result.structured_content["result"]
    assert seen["url"] == "repl-pair:notebook?variant=shop.quote/One&modes=eur"
    assert seen["label"] == "view-only"
    assert "pin is a secret, which no link gives away" in seen["reasons"]
    assert seen["outputs"] == [{"image/png": {"$image": 1}}]
    text, image = result.content
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data).startswith(b"\x89PNG")
    assert image.data not in text.text
    plain = agent.call("share_variant", variant_id="shop.quote/One")
    assert len(plain.content) == 1
    refused = agent.ask("share_variant", variant_id="shop.quote/One", overrides={"pin": "guess-me"})
    assert refused["error"]["code"] == "cannot_run"
    assert refused["error"]["message"] == "pin holds a secret: only the person overrides it."


def test_get_story_instructions_is_one_short_text(agent):
    reply = agent.ask("get_story_instructions")
    assert len(reply["result"]["instructions"].encode()) < 2000
    assert reply["next_steps"] == [next_step("list_stories")]


def test_the_instructions_name_each_op_that_looks_inside(agent):
    text = agent.ask("get_story_instructions")["result"]["instructions"]
    looking = {
        op["name"]
        for op in manifest.load()
        if op["toolset"] in ("values", "stacks", "eval") or op["access"] == "inspect"
    }
    assert {name for name in looking if f"{name}(" not in text} == set()


def test_what_the_instructions_state_of_writing_works_as_it_stands(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "write", "--toolsets", "story") as writer:
        text = writer.ask("get_story_instructions")["result"]["instructions"]
        shown = re.search(r"register_variant\((.*?)\);", text, re.DOTALL)[1]
        call = ast.parse(f"f({shown})".replace("{...}", '{"n": 13}'), mode="eval").body
        args = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        assert writer.ask("register_variant", **args)["ok"]
        assert (
            writer.ask("run_variant", variant_id=args["variant_id"])["result"]["status"] == "pass"
        )
        gone = writer.ask("unregister", kind="variant", id=args["variant_id"])
        assert gone["ok"], gone


def test_they_are_listed_with_the_story_toolset_and_reachable_without(agent, kernel, connect):
    assert {tool.name for tool in agent.tools()} >= STORY_TOOLS
    with connect("--kernel", kernel.path) as plain:
        assert not STORY_TOOLS & {tool.name for tool in plain.tools()}
        seen = plain.ask("run_op", op="share_variant", args={"variant_id": "shop.quote/One"})
        assert seen["result"]["url"] == "repl-pair:notebook?variant=shop.quote/One"
