"""A reading of a member at the moment when its wait ends."""

import repl_pair
from repl_pair.runtime.ops.surface.members import _read_state
from repl_pair.runtime.registry.registry import REGISTRY


def test_a_change_that_comes_as_the_wait_ends_is_read():
    done = repl_pair.surface("app").event("done", int, expose=True)
    entry = REGISTRY.get("member", "app/done")

    since = entry.body.state.revision

    def reading():
        return _read_state(entry, key=None, since=since, limit=10, is_news=False)

    assert reading() == {"kind": "event", "revision": since, "next": since, "timed_out": True}
    done.emit(42)
    news = {"revision": since + 1, "next": since + 1, "entries": [42]}
    assert reading() == {"kind": "event"} | news
