"""Results as a notebook stores them, beside the text that a person reads."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from repl_pair.records import record, to_dict

RESULTS_MIME = "application/vnd.repl-pair.results+json"
"""The type of the data that a notebook stores beside a cell."""
RESULTS_VERSION = 1
"""The version of the data of RESULTS_MIME: `{version, status, results}` of a run or a sweep."""


@record
class RunResult:
    """One run as a notebook keeps it; `failures` are why it did not pass."""

    id: str
    modes: tuple[str, ...]
    status: str
    assertions: int
    failures: tuple[str, ...]
    tags: tuple[str, ...]
    content_hash: str

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, with lists."""
        return to_dict(self) | {name: list(getattr(self, name)) for name in _LISTS}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "RunResult":
        """Read the JSON form; KeyError where a slot is missing."""
        slots: dict[str, Any] = {slot.name: data[slot.name] for slot in fields(cls)}
        for name in _LISTS:
            slots[name] = tuple(slots[name])
        return cls(**slots)


_LISTS = ("modes", "failures", "tags")
