"""A small shop's prices: discounts by quantity and customer, VAT, currencies, payment, a chart."""

import asyncio
import logging
import sqlite3
import struct
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum
from typing import Annotated

from repl_pair import Sensitive

CENT = Decimal("0.01")
LARGEST_DISCOUNT = Decimal("0.25")
RATES: Mapping[str, Decimal] = {
    "EUR": Decimal("1"),
    "USD": Decimal("1.10"),
    "CHF": Decimal("0.95"),
    "DEM": Decimal("1.95583"),
}
BY_QUANTITY: Sequence[tuple[int, Decimal]] = (
    (100, Decimal("0.15")),
    (10, Decimal("0.10")),
)

log = logging.getLogger("shop.pricing")


class Tier(Enum):
    """What a customer is to the shop."""

    STANDARD = "standard"
    GOLD = "gold"
    PARTNER = "partner"


BY_TIER: Mapping[Tier, Decimal] = {
    Tier.STANDARD: Decimal("0"),
    Tier.GOLD: Decimal("0.05"),
    Tier.PARTNER: Decimal("0.12"),
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """So many of one thing, at a price in EUR."""

    sku: str
    quantity: int
    unit_price: Decimal

    @property
    def amount(self) -> Decimal:
        """The price before any discount."""
        return self.quantity * self.unit_price


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a customer wants."""

    lines: list[Line]
    tier: Tier = Tier.STANDARD


@dataclass(frozen=True, kw_only=True)
class PricedLine:
    """One line of a quote, in the quote's currency."""

    sku: str
    quantity: int
    amount: Decimal
    discount: Decimal


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What an order costs."""

    currency: str
    lines: list[PricedLine]
    subtotal: Decimal
    discount: Decimal
    vat: Decimal
    total: Decimal


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What the payment service answers."""

    reference: str
    amount: Decimal
    request: str


class PaymentDeclined(Exception):
    """The payment service said no."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An image that every front end can show."""

    width: int
    height: int
    rows: tuple[bytes, ...] = field(repr=False)

    def _repr_png_(self) -> bytes:
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self.rows))
        chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", pixels), _chunk(b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def find_discount(quantity: int, tier: Tier = Tier.STANDARD) -> Decimal:
    """Return the share that comes off a line; quantity and tier add up to at most a quarter."""
    if quantity < 1:
        raise ValueError(f"quantity is {quantity}; it starts at 1")
    by_quantity = next((share for least, share in BY_QUANTITY if quantity >= least), Decimal(0))
    return min(by_quantity + BY_TIER[tier], LARGEST_DISCOUNT)


def price_order(order: Order, currency: str = "EUR", vat_rate: Decimal = Decimal("0.19")) -> Quote:
    """Price an order: discounts by line, VAT on the rest, rounded to cents."""
    if not order.lines:
        raise ValueError("an order has at least one line")
    rate = _rate_of(currency)
    lines = [_price_line(line, order.tier, rate) for line in order.lines]
    subtotal = sum((line.amount for line in lines), Decimal(0))
    discount = sum((line.discount for line in lines), Decimal(0))
    vat = _round((subtotal - discount) * vat_rate)
    log.info("priced %d lines in %s", len(lines), currency)
    return Quote(
        currency=currency,
        lines=lines,
        subtotal=subtotal,
        discount=discount,
        vat=vat,
        total=subtotal - discount + vat,
    )


async def price_live(order: Order, currency: str = "EUR") -> Quote:
    """Price an order after asking for today's rate, as a web service would."""
    await asyncio.sleep(0.01)
    return price_order(order, currency)


def look_up_price(sku: str, catalogue: sqlite3.Connection) -> Decimal:
    """Return the price of one thing in the shop's catalogue."""
    row = catalogue.execute("SELECT price FROM item WHERE sku = ?", (sku,)).fetchone()
    if row is None:
        raise LookupError(f"no {sku!r} in the catalogue")
    return Decimal(row[0])


def open_catalogue(prices: Mapping[str, str]) -> sqlite3.Connection:
    """Open a catalogue in memory; the caller closes it."""
    catalogue = sqlite3.connect(":memory:")
    catalogue.execute("CREATE TABLE item (sku TEXT PRIMARY KEY, price TEXT)")
    catalogue.executemany("INSERT INTO item VALUES (?, ?)", prices.items())
    return catalogue


def pay(amount: Decimal, card: str, api_key: Annotated[str, Sensitive]) -> Receipt:
    """Take a payment; as careless with its key as real programs are."""
    request = f"POST https://pay.example/v1/charge?amount={amount}&auth={api_key}"
    print(f"sending {request}")
    log.warning("paying with %s", api_key)
    if card.endswith("0002"):
        raise PaymentDeclined(f"card {card} was declined for {api_key}")
    return Receipt(reference=f"ch-{card[-4:]}", amount=amount, request=request)


def draw_quote(quote: Quote, width: int = 240, bar: int = 18) -> Picture:
    """Draw a quote's lines as bars, the discount of each in red."""
    longest = max(line.amount for line in quote.lines)
    blank = bytes((255, 255, 255)) * width
    rows: list[bytes] = [blank] * 4
    for line in quote.lines:
        whole = int(width * line.amount / longest)
        off = int(width * line.discount / longest)
        colours = bytes((46, 111, 176)) * (whole - off) + bytes((200, 60, 50)) * off
        rows += [colours + blank[len(colours) :]] * bar + [blank] * 4
    return Picture(width=width, height=len(rows), rows=tuple(rows))


def _rate_of(currency: str) -> Decimal:
    if currency not in RATES:
        raise LookupError(f"no rate for {currency!r}; there are {', '.join(RATES)}")
    if currency == "DEM":
        warnings.warn("DEM was replaced by EUR in 2002", DeprecationWarning, stacklevel=3)
    return RATES[currency]


def _price_line(line: Line, tier: Tier, rate: Decimal) -> PricedLine:
    amount = _round(line.amount * rate)
    return PricedLine(
        sku=line.sku,
        quantity=line.quantity,
        amount=amount,
        discount=_round(amount * find_discount(line.quantity, tier)),
    )


def _round(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
