"""A shopping cart: things go in and out, a voucher lowers the price, and then it is paid."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from repl_pair import effect

PRICES: Mapping[str, Decimal] = {
    "cup": Decimal("7.20"),
    "kettle": Decimal("39.00"),
    "tea": Decimal("4.50"),
}
VOUCHERS: Mapping[str, Decimal] = {"SPRING": Decimal("0.10"), "STAFF": Decimal("0.30")}


class Phase(Enum):
    """How far a customer has come."""

    SHOPPING = "shopping"
    PAID = "paid"


class NotInTheCart(LookupError):
    """What is to be taken out was never put in."""


@dataclass
class Cart:
    """One customer's cart; `owner` is who pays."""

    owner: str
    lines: dict[str, int] = field(default_factory=dict[str, int])
    voucher: str | None = None
    phase: Phase = Phase.SHOPPING

    @property
    def total(self) -> Decimal:
        """What is to be paid."""
        full = sum((PRICES[sku] * n for sku, n in self.lines.items()), Decimal(0))
        lowered = full * (1 - VOUCHERS[self.voucher]) if self.voucher else full
        return lowered.quantize(Decimal("0.01"))

    def add(self, sku: str, quantity: int = 1) -> int:
        """Put something in; gives how many of it there are now."""
        self.lines[sku] = self.lines.get(sku, 0) + quantity
        return self.lines[sku]

    def remove(self, sku: str) -> None:
        """Take all of something out."""
        if sku not in self.lines:
            raise NotInTheCart(f"no {sku} in the cart")
        del self.lines[sku]

    def redeem(self, code: str) -> None:
        """Take a voucher; one at a time."""
        if code not in VOUCHERS:
            raise ValueError(f"no voucher {code}")
        self.voucher = code

    async def pay(self) -> str:
        """Pay, and send the receipt; gives the receipt's number."""
        number = await effect("payment/charge", owner=self.owner, amount=self.total)
        effect("mail/send", to=self.owner, subject=f"Receipt {number}")
        self.phase = Phase.PAID
        return number


@effect.impl("payment/charge")
async def charge(owner: str, amount: Decimal) -> str:
    """Ask the bank; there is none here."""
    raise ConnectionError(f"no bank to ask for {amount} of {owner}")


@effect.impl("mail/send")
def send(to: str, subject: str) -> None:
    """Send a mail; there is no mail server here."""
    raise ConnectionError(f"no server to send {subject!r} to {to}")
