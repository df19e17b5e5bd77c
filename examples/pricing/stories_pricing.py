"""Stories of the pricing app: its functions in the states that matter, each checked."""

# %% What is distinguished
from collections.abc import Iterator
from decimal import Decimal
from sqlite3 import Connection

import pricing
from pricing import Line, Order, Picture, Quote, Tier

import repl_pair
from repl_pair import check

repl_pair.tag("smoke", doc="Quick, and shows that the app works at all.")
repl_pair.tag("edge", doc="At the limit of what is valid.")
repl_pair.tag("fails-on-purpose", doc="Shows what a failure looks like.")

for code in ("EUR", "USD", "CHF"):
    repl_pair.mode(f"currency/{code.lower()}", axis="currency", args={"currency": code})

CURRENCIES = ["currency/eur", "currency/usd", "currency/chf"]

# %% Checks of the shop's own


@repl_pair.assertion
def adds_up(settled: object) -> repl_pair.Verdict:
    """`[]`: subtotal, discount and VAT of the quote give its total."""
    quote: Quote = settled.result
    expected = quote.subtotal - quote.discount + quote.vat
    return repl_pair.Verdict(
        passed=quote.total == expected,
        expected=expected,
        actual=quote.total,
        reason="" if quote.total == expected else "the parts do not give the total",
    )


# %% Quotes
SINGLE = Order(lines=[Line(sku="TEA-01", quantity=1, unit_price=Decimal("4.50"))])
BULK = Order(
    lines=[
        Line(sku="TEA-01", quantity=10, unit_price=Decimal("4.50")),
        Line(sku="CUP-07", quantity=120, unit_price=Decimal("7.20")),
    ]
)

repl_pair.story(
    "pricing.quote",
    component=pricing.price_order,
    args={"currency": "EUR"},
    tags=["smoke"],
    modes=CURRENCIES,
)
repl_pair.variant(
    "pricing.quote/Single",
    doc="One thing at its list price.",
    args={"order": SINGLE},
    play=[
        check.path_equals("result.total", 5.36),
        check.path_equals("result.discount", 0),
        check.no_warnings(),
    ],
)
repl_pair.variant(
    "pricing.quote/Bulk",
    doc="Two lines over both thresholds; holds in every currency.",
    args={"order": BULK},
    play=[
        [adds_up],
        check.path_equals("result.lines[1].sku", "CUP-07"),
        check.path_equals("result.lines[1].quantity", 120),
    ],
)
repl_pair.variant(
    "pricing.quote/Partner",
    doc="A partner's discount is capped at a quarter.",
    args={"order": {"lines": BULK.lines, "tier": Tier.PARTNER}},
    play=[check.path_equals(["result", "lines", 1, "discount"], "216.00"), [adds_up]],
)
repl_pair.variant(
    "pricing.quote/Tax_free",
    doc="Goods for export carry no VAT.",
    args={"order": SINGLE, "vat_rate": "0"},
    play=[
        check.path_equals("result.vat", "0.00"),
        check.path_equals("result.total", Decimal("4.50")),
    ],
    tags=["edge"],
)
repl_pair.variant(
    "pricing.quote/Old_currency",
    doc="A currency of the past still works, with a warning.",
    args={"order": SINGLE, "currency": "DEM"},
    play=[
        check.path_equals("warnings[0]", "DeprecationWarning: DEM was replaced by EUR in 2002"),
        check.path_equals("result.currency", "DEM"),
    ],
    tags=["edge", "!smoke"],
)
repl_pair.variant(
    "pricing.quote/Empty",
    doc="An order without lines is refused.",
    args={"order": Order(lines=[])},
    play=[check.raises(ValueError, match="at least one line")],
    tags=["edge", "state/empty", "!smoke"],
)

# %% Discounts
repl_pair.story("pricing.discount", component=pricing.find_discount, args={"tier": "STANDARD"})
repl_pair.variant(
    "pricing.discount/Few",
    doc="Below ten there is none.",
    args={"quantity": 9},
    play=[check.path_equals("result", 0)],
)
repl_pair.variant(
    "pricing.discount/Capped",
    doc="Much, and a partner: a quarter and no more.",
    args={"quantity": 100, "tier": Tier.PARTNER},
    play=[check.path_equals("result", "0.25")],
    tags=["edge"],
)
repl_pair.variant(
    "pricing.discount/Wrong_on_purpose",
    doc="Expects more than the shop gives: this is what a failure looks like.",
    args={"quantity": 10, "tier": Tier.GOLD},
    play=[check.path_equals("args.quantity", 10), check.path_equals("result", "0.20")],
    tags=["fails-on-purpose"],
)

# %% Payments, with a key
PAYMENT_KEY = "pk-live-8f3aQz71LmXw20Td"  # made up; a real one comes from the environment

repl_pair.story("pricing.payment", component=pricing.pay, args={"api_key": PAYMENT_KEY})
repl_pair.variant(
    "pricing.payment/Accepted",
    doc="The key stands in the result's text, in what is printed and in a log.",
    args={"amount": "12.50", "card": "4242-0001"},
    play=[
        check.path_equals("result.reference", "ch-0001"),
        check.path_equals("result.amount", 12.5),
    ],
    tags=["smoke"],
)
repl_pair.variant(
    "pricing.payment/Declined",
    doc="The key stands in the exception's text.",
    args={"amount": "12.50", "card": "4242-0002"},
    play=[check.raises("PaymentDeclined", match="was declined")],
)

# %% A chart


@repl_pair.story("pricing.chart", modes=CURRENCIES)
def chart(order: Order, currency: str = "EUR") -> Picture:
    """Draw what an order costs."""
    return pricing.draw_quote(pricing.price_order(order, currency))


repl_pair.variant(
    "pricing.chart/Bars",
    doc="Gives an image.",
    args={"order": BULK},
    play=[check.path_equals("result.width", 240), check.no_warnings()],
    tags=["screenshot"],
)

# %% A catalogue that lives as long as one run


@repl_pair.loader("catalogue")
def catalogue(prices: dict[str, str]) -> Iterator[Connection]:
    """A database in memory, closed after the run."""
    connection = pricing.open_catalogue(prices)
    yield connection
    connection.close()


repl_pair.story(
    "pricing.catalogue",
    component=pricing.look_up_price,
    args={"catalogue": repl_pair.ref("catalogue", prices={"TEA-01": "4.50", "CUP-07": "7.20"})},
)
repl_pair.variant(
    "pricing.catalogue/Known",
    args={"sku": "CUP-07"},
    play=[check.path_equals("result", "7.20")],
    tags=["smoke"],
)
repl_pair.variant(
    "pricing.catalogue/Unknown",
    args={"sku": "TEA-99"},
    play=[check.raises(LookupError, match="TEA-99")],
    tags=["edge"],
)

# %% Live rates
repl_pair.story("pricing.live", component=pricing.price_live, modes=CURRENCIES)
repl_pair.variant(
    "pricing.live/Usd",
    doc="Asynchronous: the rate is asked for first.",
    args={"order": SINGLE, "currency": "USD"},
    play=[check.path_equals("result.total", "5.89"), [adds_up]],
)
