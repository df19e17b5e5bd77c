"""When a trigger fires: at intervals, after the person's cells, or when a member changes."""

from typing import Literal, TypedDict

from repl_pair.errors import NextStep, RequestError, next_step
from repl_pair.runtime.registry.ids import plain_member_id

MIN_S, MAX_S = 1.0, 86_400
"""How often a trigger of time may run."""
EVERY_MINUTE = {"every_s": 60}
ON = '{"every_s": 60}, {"cells": true}, {"changed": "training/loss"}'
"""What a trigger can fire on, by example."""
CELLS = "cells"
"""The name under which the kernel counts the person's cells; see the op `await_members`."""


class On(TypedDict, total=False):
    """When a trigger fires, exactly one of these: `changed` names a member of a surface."""

    every_s: float
    cells: Literal[True]
    changed: str


def parse_on(asked: NextStep) -> On:
    """Read when a trigger fires, of a call of `register_trigger`; `bad_arguments`."""
    given = asked["args"]["on"]
    if len(given) == 1:
        ((name, value),) = given.items()
        is_number = type(value) in (int, float)
        if name == "every_s" and is_number and MIN_S <= value <= MAX_S:
            return {"every_s": value}
        if name == "cells" and value is True:
            return {"cells": True}
        if name == "changed" and type(value) is str:
            return {"changed": plain_member_id(value)}
    raise RequestError(
        "bad_arguments",
        f"on is one of {ON}, with {MIN_S:g} to {MAX_S:,} seconds; it is {given!r:.80}. Nothing "
        "was kept.",
        next_steps=[next_step(asked["op"], **{**asked["args"], "on": EVERY_MINUTE})],
    )


def watched_by(on: On) -> str | None:
    """Return what the kernel is asked about, the cells or a member; None for intervals."""
    return CELLS if "cells" in on else on.get("changed")


def is_watchable(on: On) -> bool:
    """Return whether it is the cells or a member of the app, and not a registry of repl_pair."""
    surface, _, member = on.get("changed", "").partition("/")
    return "cells" in on or (member != "" and surface != "repl_pair")
