"""Stories of the cart: a class whose events are its methods, and what it does to the world."""

from decimal import Decimal

import cart
from cart import Cart

import repl_pair
from repl_pair import check, step

# %% What stands in for the bank and the mail
repl_pair.decorator("bank/says-yes", kind="fx_override", effect="payment/charge", response="R-0042")
repl_pair.decorator(
    "bank/is-slow-once",
    kind="fx_override",
    effect="payment/charge",
    responses=[{"$raise": "TimeoutError", "message": "no answer in 5 s"}, "R-0043"],
)
repl_pair.decorator("mail/quiet", kind="fx_override", effect="mail/send", response=None)
repl_pair.decorator(
    "cart/filled",
    kind="frame_setup",
    doc="Two things that everybody buys.",
    init=[["add", {"sku": "tea", "quantity": 2}], ["add", {"sku": "cup"}]],
)


# %% What follows from a cart, and an event that is no method
@repl_pair.derived("is-free")
def is_free(state: Cart) -> bool:
    """Return whether there is nothing to pay."""
    return state.total == 0


@repl_pair.handler("empty")
def empty(live: Cart) -> None:
    """Take everything out at once."""
    for sku in list(live.lines):
        live.remove(sku)


# %% The cart
repl_pair.story(
    "shop.cart",
    component=cart.Cart,
    args={"owner": "ann@example.com"},
    decorators=["mail/quiet"],
    variants={
        "New": {"play": [check.path_equals("state.total", 0)]},
        "Filled": {
            "decorators": ["cart/filled"],
            "play": [
                check.path_equals("state.lines", {"tea": 2, "cup": 1}),
                check.path_equals("state.total", Decimal("16.20")),
            ],
        },
    },
)
repl_pair.variant(
    "shop.cart/Emptied",
    extends="shop.cart/Filled",
    events=["empty"],
    play=[check.derived_equals("is-free", True)],
)
repl_pair.variant(
    "shop.cart/With_voucher",
    extends="shop.cart/Filled",
    plays={
        "spring": [
            step.dispatch("redeem", code="SPRING"),
            check.path_equals("state.total", Decimal("14.58")),
        ],
        "staff": {
            "steps": [
                step.dispatch("redeem", code="STAFF"),
                check.path_equals("state.total", Decimal("11.34")),
            ],
            "auto_run": True,
        },
        "by-hand": {"steps": [step.dispatch("redeem", code="NONE")], "auto_run": False},
    },
)
repl_pair.variant(
    "shop.cart/Removed_twice",
    extends="shop.cart/Filled",
    play=[
        step.dispatch("remove", sku="tea"),
        step.dispatch("remove", sku="tea"),
        check.raises("NotInTheCart", match="no tea"),
        check.path_equals("state.lines", {"cup": 1}),
    ],
)

# %% Paying
repl_pair.variant(
    "shop.cart/Paid",
    extends="shop.cart/Filled",
    decorators=["bank/says-yes"],
    play=[
        step.dispatch("pay"),
        check.path_equals("last", "R-0042"),
        check.state_is("phase", "paid"),
        check.dispatched("pay"),
        check.effect_emitted("payment/charge", amount=Decimal("16.20")),
        check.effect_emitted("mail/send", subject="Receipt R-0042"),
    ],
)
repl_pair.variant(
    "shop.cart/Paid_at_the_second_try",
    extends="shop.cart/Filled",
    decorators=["bank/is-slow-once"],
    play=[
        step.dispatch("pay"),
        check.raises(TimeoutError, match="5 s"),
        check.state_is("phase", "shopping"),
        step.dispatch("pay"),
        check.state_is("phase", "paid"),
    ],
)
repl_pair.variant(
    "shop.cart/Nobody_answers_for_the_bank",
    doc="Without a stub the real effect is called, and there is no bank here.",
    extends="shop.cart/Filled",
    play=[step.dispatch("pay"), check.raises(ConnectionError, match="no bank")],
)
