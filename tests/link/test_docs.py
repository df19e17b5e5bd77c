"""Documentation and links, asked over a link."""

import pytest

pytestmark = pytest.mark.anyio

SHOP = """\
import repl_pair
from repl_pair import check
from typing import Annotated
from repl_pair import Sensitive

repl_pair.mode("eur", args={"rate": 2.0})

@repl_pair.story("shop.quote", args={"pin": "pin-4711-zkQ8"}, modes=["eur"])
def quote(n: int = 1, rate: float = 1.0, pin: Annotated[str, Sensitive] = "", note: str = ""):
    "Quote an order."
    return {"total": n * rate}

repl_pair.variant("shop.quote/One", doc="One | line.", play=[check.path_equals("result.total", 1)])
for number in range(40):
    repl_pair.variant(f"shop.quote/N{number}", doc="A longer text about it. " * 3)
"""


async def test_documentation_over_the_length_of_a_text_comes_whole_and_redacted(link):
    await link.define(SHOP)
    await link.run("shop.quote/One")
    seen = await link.get("get_docs_markdown", story_id="shop.quote", limit=200)
    text = seen["markdown"]
    assert len(text) > 4000
    assert text.startswith("# shop.quote\n\nQuote an order.\n\nComponent: `__main__.quote`\n")
    assert "| `pin` | string, secret | `[redacted]` |" in text
    assert "| `One` | One \\| line. | pass, 1 of 1 assertions | `repl_pair.run(" in text
    assert text.count("| not run |") == 40
    assert "pin-4711" not in text


async def test_a_link_to_what_a_cell_defines_is_view_only_and_states_why(link):
    await link.define(SHOP)
    seen = await link.get(
        "share_variant",
        variant_id="shop.quote/One",
        modes=["eur"],
        overrides={"note": "a b"},
        base_url="http://localhost:8888/lab/tree/shop.ipynb#cell",
    )
    assert seen["url"] == (
        "http://localhost:8888/lab/tree/shop.ipynb?variant=shop.quote/One&modes=eur"
        "&overrides=%7B%22note%22%3A%22a%20b%22%7D#cell"
    )
    assert seen["label"] == "view-only"
    assert seen["reasons"][0] == "quote is defined in this session, not in a module to import"
    refusal = await link.refusal(
        "share_variant", variant_id="shop.quote/One", overrides={"pin": "guess-it-now"}
    )
    assert (refusal["code"], "only the person" in refusal["message"]) == ("cannot_run", True)


async def test_the_instructions_leave_uncut(link):
    seen = await link.get("get_story_instructions")
    assert seen["instructions"].endswith("next_steps has a smaller one.\n")
