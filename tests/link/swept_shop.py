"""A small shop to sweep: two variants in two modes of one axis; a sweep's answer as tuples."""

SHOP = """\
import repl_pair
from repl_pair import check

repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")
repl_pair.mode("usd", args={"rate": 3.0}, axis="currency")
repl_pair.tag("slow")

@repl_pair.story("shop.price", modes=["eur", "usd"], tags=["test"])
def price(rate: float = 1.0):
    return rate

repl_pair.variant("shop.price/One", play=[check.path_equals("result", 1.0)])
repl_pair.variant("shop.price/Two", play=[check.path_equals("result", 2.0)], tags=["slow"])
"""


def lines(answer):
    return [(item["variant_id"], item.get("modes", []), item["status"]) for item in answer["items"]]
