"""What the variables panel and its script send each other; the script holds the same shapes."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from repl_pair.wire import Json


class AgentState(TypedDict):
    """An attached agent; `inspect` is whether its latest call had that gate open.

    `closed` stands for a gate that asks the person too: the kernel cannot distinguish them.
    """

    principal: str
    inspect: Literal["open", "granted", "closed", "unknown"]


class Gate(TypedDict):
    """Who is attached, whether the person paused them, and whether none may attach."""

    agents: Sequence[AgentState]
    paused: bool
    refused: bool


class Row(TypedDict):
    """One line of `list_variables` as it came; `why` it is protected, empty where it is not."""

    slots: Mapping[str, Json]
    why: str


class Page(TypedDict):
    """Rows from `start` on of the list that `list` marks; `beside` are slots beside the rows."""

    list: str
    total: int
    start: int
    rows: Sequence[Row]
    beside: Mapping[str, Json]


class Reading(TypedDict):
    """What `get_value` answers: its slots, or its refusal; `paths` are those to read on with."""

    slots: Mapping[str, Json]
    refusal: str
    paths: Sequence[str]
    why: str


class VariablesPatch(TypedDict, total=False):
    """What agents have open now; how many cells have ended, and evaluations of agents.

    Rows may have changed at each end.
    """

    gate: Gate
    ended: int
