import repl_pair
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.recording import record_as_variant
from repl_pair.wire import View


class Cart:
    def __init__(self):
        self.items = []

    def add(self, sku):
        self.items.append(sku)


def test_what_is_dispatched_as_soon_as_a_recording_is_reported_is_in_it():
    repl_pair.story("cart", component=Cart)
    repl_pair.variant("cart/Empty")
    with repl_pair.live("cart/Empty") as live:
        call = Call(
            view=View(principal="agent"), progress=lambda _text: live.dispatch("add", sku="a")
        )
        answer = record_as_variant(call, "cart/Empty", "cart/One", duration_ms=0)
    assert (answer["count"], answer["live_objects"]) == (1, 1)
