"""Stories of the turnstile: each way through its states, with its events and its own timer."""

from turnstile import State, Turnstile

import repl_pair
from repl_pair import check, step

repl_pair.story("turnstile", component=Turnstile, tags=["test"])
repl_pair.variant("turnstile/Locked", play=[check.state_is("state.state", State.LOCKED)])
repl_pair.variant(
    "turnstile/Through",
    doc="A coin, and somebody goes through.",
    play=[
        step.dispatch("coin", value=2),
        check.state_is("state.state", "open"),
        step.dispatch("push"),
        check.state_is("state.state", "locked"),
        check.path_equals("state.passed", 1),
    ],
)
repl_pair.variant(
    "turnstile/Forgotten",
    doc="Nobody goes through: it locks by itself, and the coin is gone.",
    play=[
        step.dispatch("coin", value=2),
        step.dispatch("settled"),
        check.state_is("state.state", State.LOCKED),
        check.path_equals("state.passed", 0),
        step.dispatch("push"),
        check.path_equals("state.passed", 0),
    ],
)
repl_pair.variant(
    "turnstile/Dear",
    doc="Small coins add up to a higher price.",
    args={"price": 4},
    events=[["coin", {"value": 1}], ["coin", {"value": 2}]],
    play=[
        check.state_is("state.state", "locked"),
        step.dispatch("coin", value=1),
        check.state_is("state.state", "open"),
        check.path_equals("state.paid", 0),
    ],
)
repl_pair.variant(
    "turnstile/Broken",
    extends="turnstile/Dear",
    doc="Once kicked it takes no coins.",
    events=[["kick", {}]],
    play=[
        check.state_is("state.state", "broken"),
        step.dispatch("coin", value=1),
        check.raises(RuntimeError, match="takes no coins"),
    ],
)
