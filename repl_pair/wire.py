"""The messages between kernel and bridge: their types, markers, requests, replies, events."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Unpack

from repl_pair.errors import NextStep, ReplPairError, first_steps
from repl_pair.records import record, to_dict

PROTOCOL = 1
"""The version of the messages; raised when one side would misread a message of the other."""

REQUEST = "repl_pair_request"
REPLY = "repl_pair_reply"
PROGRESS = "repl_pair_progress"
CANCEL = "repl_pair_cancel"
ATTACH = "repl_pair_attach"
"""Attaches a client; content is a `ClientContent`, the REPLY carries a `Greeting`."""
LEAVE = "repl_pair_leave"
"""Detaches a client, `{"client": id}`; the REPLY carries `{"remaining_clients"}`."""
EVENT = "repl_pair_event"
USERNAME = "repl_pair"
"""In the header of each message that repl_pair sends; a person's have another."""
MIME = "application/vnd.repl-pair+json"
FEATURE = f"repl_pair/{PROTOCOL}"
"""The target, and the only comm, that a comm_info_reply on control names while they are in."""

REDACTED = "[redacted]"
"""Replaces a secret: a plain string without size or path; the value cannot be recovered."""
ELIDED = "$elided"
"""Key of the marker of a large value: `{"$elided": {"type", "size", "handle"?}}`."""
OVERFLOW = "$overflow"
"""Key of the marker of a whole reply over its budget."""
READ_ON = {"cursor": "cursor", "next_offset": "offset"}
"""The slots of an answer that name its next page, and the argument that takes each."""
NULLABLE = "x-nullable"
"""Key of the mark in a schema beside whose values null may stand."""

REPLY_CHARS, LONG_REPLY_CHARS = 16_000, 32_000
"""Bounds of an agent's reply; the second where its caller named a `limit` of its own."""

MAX_FUNCTION_TOOLS = 16
"""How many functions of an app are tools of their own, the first by name."""

CHANGES_WINDOW_S = 0.2
"""How long changes of what is followed are gathered, from the first: one update in that time."""

PERSON = "person"
"""The principal of the person's own terminal and code; all others are agents."""
AGENT = "agent"
"""The principal of a server that was started without a name."""
AGENTS = "agents"
"""The recipient of a notice for every agent."""
MUTATES = "mutates"
"""Access to those functions of the app that change something; see `Policy`."""
ACCESS = ("read", "run", MUTATES, "inspect", "write", "eval")
LANES = ("inline", "worker", "waiting", "main")

Args: TypeAlias = Mapping[str, Any]
"""The arguments of an op, by name."""
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def may_have(principal: str, owner: str | None) -> bool:
    """Return whether what belongs to `owner` exists for a principal; None: it belongs to all.

    For the person all of it does. A name is no credential: any process may state any name.
    """
    return owner in (None, principal) or principal == PERSON


class ClientContent(TypedDict):
    """Content of an ATTACH message; `started` is None where the system does not give it."""

    id: str
    principal: str
    pid: int
    started: str | None
    place: str


class Greeting(TypedDict):
    """Result of an ATTACH: which kernel answers, and how to send requests to it.

    `clock` is its monotonic clock, in seconds. `channel` and `why` are set where requests wait
    behind cells; `ident` heads the topic of its iopub messages.
    """

    boot: str
    version: str
    protocol: int
    pid: int
    clock: float
    ident: NotRequired[str]
    control_tid: NotRequired[int]
    executable: NotRequired[str]
    channel: NotRequired[str]
    why: NotRequired[str]


class EventContent(TypedDict):
    """One item of `events` in an EVENT message; see `Event`."""

    boot: str
    seq: int
    member: str
    change: str
    key: str | None
    revision: int


class ProgressContent(TypedDict):
    """Content of a PROGRESS message."""

    call: str
    message: str
    elapsed_s: float


Reply: TypeAlias = dict[str, Any]
"""`{ok, result | error, boot, seq, redacted, elided, notifications, notices, next_steps, hints}`.

Slots that hold nothing are left out. An error is `{code, message, detail}`, its code a key of
`repl_pair.errors.CODES`. The bridge adds `kernel`, and `age_s` to an earlier answer that it repeats
for a silent kernel.
"""
OnReply: TypeAlias = Callable[[Reply], None]
SendProgress: TypeAlias = Callable[[ProgressContent], None]
LATE = "late_at"
"""Key in the detail of the refusal of a late request: the kernel's clock at that moment."""
UNATTACHED = "unattached"
"""Key in the detail of the refusal of a client that has to attach again."""


# What freezes `time` leaves `threading` as it is, whose waiting it would stop.
_CLOCK: Callable[[], float] = vars(threading).get("_time", time.monotonic)


def monotonic(clock: Callable[[], float] = _CLOCK) -> float:
    """Return the seconds of this process's clock, also while a test of the person freezes `time`.

    Every time on the wire, and every deadline, is of this clock.
    """
    return clock()


@record
class View:
    """What a request may see: filters registries and ops before an op runs."""

    principal: str = PERSON
    tier: str | None = None
    access: frozenset[str] = frozenset({"read", "run", MUTATES})
    policy: int = 0
    expose_all: bool = False
    """Whether members and functions of the app are seen that are not exposed; for development."""

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
            expose_all=data.get("expose_all") is True,
        )


@record
class Request:
    """One call of an op, for the kernel process with this `boot` id (None: any).

    It is refused unless it is accepted by `take_by`, and does not run unless it begins by
    `begin_by`: seconds of the kernel's monotonic clock, None without bound. `client` is the id of
    the attached client, `approval` the handle of the person's approval of exactly this call.
    `is_reported`: its caller sees the whole reply.
    """

    op: str
    args: Args = field(default_factory=dict[str, Any])
    call: str
    boot: str | None = None
    view: View = View()
    take_by: float | None = None
    begin_by: float | None = None
    client: str | None = None
    approval: str | None = None
    is_reported: bool = True

    @property
    def agent_client(self) -> str | None:
        """The client of an agent's call; None for the person's, and for what no client called."""
        return None if self.view.principal == PERSON else self.client

    def to_wire(self) -> dict[str, Any]:
        """Return the content of a REQUEST message: every field, and the protocol."""
        nested = {"args": dict(self.args), "view": self.view.to_wire()}
        return {"protocol": PROTOCOL, **to_dict(self), **nested}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "Request":
        """Read the content of a REQUEST message; KeyError or TypeError where a slot is wrong."""
        slots: dict[str, Any] = {name: data[name] for name in ("op", "args", "call")}
        if [type(value) for value in slots.values()] != [str, dict, str]:
            raise TypeError("op and call are texts, args is an object")
        for name in ("boot", "take_by", "begin_by", "client", "approval"):
            slots[name] = data.get(name)
        slots["is_reported"] = data.get("is_reported", True)
        return cls(view=View.from_wire(data["view"]), **slots)


@record
class Event:
    """Reports that `member` of the store changed; `seq` counts up by one within a `boot`."""

    boot: str
    seq: int
    member: str
    change: str
    key: str | None = None
    revision: int = 0


class Notices(TypedDict):
    """What changed that the caller has not seen: the newest ids, at most three, and how many more.

    They are seen once this client calls again; `notifications_list` has them whole.
    """

    ids: list[str]
    more: int


class Slots(TypedDict, total=False):
    """What a reply may hold besides its result or error; empty slots are left out."""

    boot: str | None
    seq: int | None
    redacted: int
    elided: int
    notifications: Iterable[str]
    notices: Notices
    next_steps: Iterable[NextStep]
    hints: Iterable[str]


class ErrorBody(TypedDict):
    """What the reply of a refused call holds as its `error`."""

    code: str
    message: str
    detail: NotRequired[dict[str, Any]]


class ErrorReply(Slots):
    """The reply of a refused call."""

    ok: Literal[False]
    error: ErrorBody


LONGEST_WORD = 2_000


def cut_at_word(text: str, longest: int) -> str:
    """Return the head of a text, cut before the word at the end: half a secret is known as none.

    A word of over 2,000 characters is cut where it is.
    """
    if len(text) <= longest or text[longest].isspace():
        return text[:longest]
    start = max(0, longest - LONGEST_WORD)
    end = next((at for at in range(longest, start, -1) if text[at - 1].isspace()), longest)
    return text[:end]


def ok_reply(result: Any, **slots: Unpack[Slots]) -> Reply:
    """Build the reply of an answered call, with the first of its next steps."""
    return {"ok": True, "result": result, **_filled(slots)}


def error_reply(error: ReplPairError, **slots: Unpack[Slots]) -> Reply:
    """Build the reply of a refused call, with the next steps of the error."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.detail:
        body["detail"] = error.detail
    more: Slots = {"next_steps": error.next_steps, "hints": error.hints}
    return {"ok": False, "error": body, **_filled({**slots, **more})}


def raise_for_error(reply: Reply) -> Any:
    """Return the result of an answered call; raise the ReplPairError of a refused one."""
    if reply["ok"]:
        return reply["result"]
    error = reply["error"]
    raise ReplPairError(
        error["code"],
        error["message"],
        detail=error.get("detail"),
        next_steps=reply.get("next_steps", ()),
        hints=reply.get("hints", ()),
    )


def _filled(slots: Slots) -> dict[str, Any]:
    filled: dict[str, Any] = {
        **slots,
        "notifications": list(slots.get("notifications", ())),
        "next_steps": first_steps(slots.get("next_steps", ())),
        "hints": list(slots.get("hints", ())),
    }
    return {name: value for name, value in filled.items() if value not in (None, 0, [])}
