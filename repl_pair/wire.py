"""What crosses the border between kernel and bridge: messages, markers, requests, replies."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias, TypedDict

from repl_pair.errors import ReplPairError
from repl_pair.records import record, to_dict

PROTOCOL = 1
"""Raised when a request or reply of one side would be misread by the other."""

REQUEST = "repl_pair_request"
REPLY = "repl_pair_reply"
PROGRESS = "repl_pair_progress"
CANCEL = "repl_pair_cancel"
ATTACH = "repl_pair_attach"
"""Says that a client comes, `{"id", "principal", "pid", "started", "place"}`; REPLY greets it."""
LEAVE = "repl_pair_leave"
"""Says that one client of the kernel goes away, `{"client": id}`; REPLY counts those that stay."""
EVENT = "repl_pair_event"
USERNAME = "repl_pair"
"""Stands in the header of every message of ours, so that a kernel can tell it from a person's."""
MIME = "application/vnd.repl-pair+json"
RESULTS_MIME = "application/vnd.repl-pair.results+json"
"""What a notebook keeps of results, beside the text that a person reads."""
FEATURE = f"repl_pair/{PROTOCOL}"
"""Stands among the `supported_features` of a kernel_info_reply while our handlers are in."""

REDACTED = "[redacted]"
"""Stands for a secret: a bare scalar, no size, no path, not recoverable."""
ELIDED = "$elided"
"""Key of the marker of a large value: `{"$elided": {"type", "size", "handle"?}}`."""
OVERFLOW = "$overflow"
"""Key of the marker of a whole reply over its budget."""

PERSON = "person"
"""The principal of the person's own terminal and code; all others are agents."""
ACCESS = ("read", "run", "inspect", "write", "eval")
LANES = ("inline", "worker", "main")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Reply: TypeAlias = dict[str, Any]
"""`{ok, result | error, boot, seq, redacted, elided, notifications, next_steps}`, no empty ones.

A last known answer that the bridge gives in the kernel's place says how old it is: `age_s`.
"""
LATE = "late_at"
"""Key in the detail of the refusal of a request that came too late: the kernel's clock then."""


RESULTS_VERSION = 1
"""The version of `Results`."""


class RunResult(TypedDict):
    """One run as a notebook keeps it; `failures` are why it did not pass."""

    id: str
    modes: list[str]
    status: str
    assertions: int
    failures: list[str]
    tags: list[str]
    content_hash: str


class Results(TypedDict):
    """The data of RESULTS_MIME: one run, or all of a sweep."""

    version: int
    status: str
    results: list[RunResult]


@record
class View:
    """What one request may see: filters registries and ops before an op runs."""

    principal: str = PERSON
    tier: str | None = None
    access: frozenset[str] = frozenset({"read", "run"})
    policy: int = 0

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, access sorted."""
        return to_dict(self) | {"access": sorted(self.access)}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "View":
        """Read the JSON form; a missing slot takes the narrowest default."""
        return cls(
            principal=str(data.get("principal", "unknown")),
            tier=data.get("tier"),
            access=frozenset(data.get("access", ())),
            policy=int(data.get("policy", 0)),
        )


@record
class Request:
    """One call of an op, bound to one life of a kernel by `boot` (None: whichever answers).

    It is refused unless it is taken up by `take_by`, and does not run unless it begins by
    `begin_by`: times of the kernel's monotonic clock, None without bound. `client` is the id of the
    one that attached, `approval` the handle of what the person approved for this very call.
    """

    op: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call: str
    boot: str | None = None
    view: View = View()
    take_by: float | None = None
    begin_by: float | None = None
    client: str | None = None
    approval: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the content of a REQUEST message."""
        return {
            "protocol": PROTOCOL,
            "op": self.op,
            "args": dict(self.args),
            "call": self.call,
            "boot": self.boot,
            "view": self.view.to_wire(),
            "take_by": self.take_by,
            "begin_by": self.begin_by,
            "client": self.client,
            "approval": self.approval,
        }

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "Request":
        """Read the content of a REQUEST message; KeyError where a slot is missing."""
        return cls(
            op=data["op"],
            args=data["args"],
            call=data["call"],
            boot=data.get("boot"),
            view=View.from_wire(data["view"]),
            take_by=data.get("take_by"),
            begin_by=data.get("begin_by"),
            client=data.get("client"),
            approval=data.get("approval"),
        )


@record
class Event:
    """A hint that `member` of the surface changed; `seq` counts up by one within a `boot`."""

    boot: str
    seq: int
    member: str
    change: str
    key: str | None = None
    revision: int = 0


def ok_reply(
    result: Any,
    *,
    boot: str | None = None,
    seq: int | None = None,
    redacted: int = 0,
    elided: int = 0,
    notifications: Iterable[str] = (),
    next_steps: Iterable[str] = (),
) -> Reply:
    """Build the envelope of an answered call, empty slots left out."""
    return _envelope(
        {"ok": True, "result": result},
        boot=boot,
        seq=seq,
        redacted=redacted,
        elided=elided,
        notifications=list(notifications),
        next_steps=list(next_steps)[:3],
    )


def error_reply(
    error: ReplPairError,
    *,
    boot: str | None = None,
    seq: int | None = None,
    notifications: Iterable[str] = (),
) -> Reply:
    """Build the envelope of a refused call."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.detail:
        body["detail"] = error.detail
    return _envelope(
        {"ok": False, "error": body},
        boot=boot,
        seq=seq,
        notifications=list(notifications),
        next_steps=list(error.next_steps),
    )


def raise_for_error(reply: Reply) -> Any:
    """Return the result of an answered call; raise what a refused one says."""
    if reply["ok"]:
        return reply["result"]
    error = reply["error"]
    raise ReplPairError(
        error["code"],
        error["message"],
        detail=error.get("detail"),
        next_steps=reply.get("next_steps", ()),
    )


def _envelope(head: Reply, **slots: Any) -> Reply:
    return head | {name: value for name, value in slots.items() if value not in (None, 0, [])}
