"""Runs every variant of the cart and exits non-zero unless each passes and leaves what it says."""

import sys

import stories_cart

import repl_pair

assert stories_cart
records = [repl_pair.run(id) for id in repl_pair.registry.ids("variant")]
for record in records:
    print(f"{record.status:10} {record.total}  {record.variant_id}  {record.reason}")

paid = repl_pair.run("shop.cart/Paid")
assert [e.id for e in paid.effects] == ["payment/charge", "mail/send"], paid.effects
assert [line[0] for line in paid.events] == ["add", "add", "pay"], paid.events
by_hand = repl_pair.run("shop.cart/With_voucher", plays=["by-hand"])
assert by_hand.status == "error", by_hand
assert by_hand.reason.endswith("ValueError: no voucher NONE"), by_hand.reason
assert len(records) == 8, len(records)
sys.exit(sum(record.status != "pass" for record in records))
