"""Work sessions and notices over every kind of link."""

from repl_pair.wire import View

SHOP = """
import repl_pair
from repl_pair import check
@repl_pair.story("shop")
def shop(n: int = 1) -> int:
    return n
repl_pair.variant("shop/One", play=[check.path_equals("result", 1)])
repl_pair.variant("shop/Two", play=[check.path_equals("result", 2)])
"""
WRITER = View(principal="ann", access=frozenset({"read", "run", "write", "eval"}))


async def test_a_session_counts_what_its_client_did(link):
    await link.define(SHOP)
    opened = await link.get("session_start", view=WRITER, goal="Mend the shop.", rfc="shop")
    await link.run("shop/One", view=WRITER)
    await link.get("run_variants", view=WRITER)
    await link.refusal("run_variant", view=WRITER, variant_id="shop/None")
    await link.get("register_tag", view=WRITER, tag_id="mine", body={})
    await link.refusal("register_tag", view=WRITER, tag_id="no id", body={})
    await link.get("eval_code", view=WRITER, code="1 / 0")
    again = await link.get("session_start", view=WRITER, goal="Another one.")
    assert (again["id"], again["goal"], again["already_open"]) == (
        opened["id"],
        "Mend the shop.",
        True,
    )
    done = await link.get("session_stop", view=WRITER)
    assert done.pop("seconds") > 0
    assert done == {
        "runs": {"pass": 2, "fail": 1},
        "registered": 1,
        "evals": 1,
        "approvals": 0,
        "annotations": 0,
        "contracts": 0,
    }
    kept = await link.get("get_session", view=WRITER, session_id=opened["id"])
    assert (kept["status"], kept["rfc"], kept["runs"]) == ("stopped", "shop", done["runs"])
    refused = await link.refusal("session_stop", view=WRITER)
    assert refused["code"] == "not_found"
