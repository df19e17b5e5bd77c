import repl_pair
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.recording import record_as_variant
from repl_pair.wire import View


class Cart:
    def __init__(self):
        self.items = []

    def add(self, sku):
        self.items.append(sku)


def record_one(new_id, **how):
    """Record a dispatch that comes as soon as the recording is reported."""
    repl_pair.story("cart", component=Cart)
    repl_pair.variant("cart/Empty")
    with repl_pair.live("cart/Empty") as live:
        call = Call(
            view=View(principal="agent"), progress=lambda _text: live.dispatch("add", sku="a")
        )
        return record_as_variant(call, "cart/Empty", new_id, duration_ms=0, **how)


def test_what_is_dispatched_as_soon_as_a_recording_is_reported_is_in_it():
    answer = record_one("cart/One")
    assert (answer["count"], answer["live_objects"]) == (1, 1)


def test_a_recording_whose_story_is_unknown_keeps_its_text_and_says_why_it_was_not_written():
    answer = record_one("nowhere/One", write_back=True)
    assert 'step.dispatch("add", sku="a")' in answer["source"]
    assert answer["written_back"] is False
    assert "no story 'nowhere'" in answer["reason"]
