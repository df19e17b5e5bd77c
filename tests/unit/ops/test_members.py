"""A reading of a member at the moment when its wait ends."""

import repl_pair
from repl_pair.runtime.ops.members import _read_state
from repl_pair.runtime.registry.registry import REGISTRY


def test_a_change_that_comes_as_the_wait_ends_is_read():
    done = repl_pair.surface("app").event("done", int, expose=True)
    entry = REGISTRY.get("member", "app/done")

    def reading():
        return _read_state(entry, key=None, since=0, limit=10, is_news=False)

    assert reading() == {"kind": "event", "revision": 0, "next": 0, "timed_out": True}
    done.emit(42)
    assert reading() == {"kind": "event", "revision": 1, "next": 1, "entries": [42]}
