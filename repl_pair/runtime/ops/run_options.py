"""What a caller may say of a run, in the words of every op that runs variants."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

Modes = Annotated[list[str] | None, "Ids of modes to activate, in order"]
Overrides = Annotated[dict[str, Any] | None, "Args that replace or deepen the variant's"]
Plays = Annotated[list[str] | None, "Names of plays to run, not those that run by themselves"]
Timeout = Annotated[float, "Seconds the run may take"]
Wait = Annotated[float, "Seconds to wait for the person's running cell"]
Lane = Annotated[
    Literal["main", "worker"], "worker needs a thread_safe story, and does not wait for cells"
]

RUN_S = 30.0
"""What a run may take where the caller does not say."""


def run_deadline(args: Mapping[str, Any]) -> float:
    """Give the seconds that a run may take once it has begun."""
    return float(args.get("timeout_s", RUN_S))
