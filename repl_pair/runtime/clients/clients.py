"""This process, its attached clients, and whether the person allows clients."""

import os
import socket
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from repl_pair.errors import KernelError, RequestError, next_step
from repl_pair.records import record, replace
from repl_pair.runtime.store import PERSON_STORE, Cell, Collection, Store
from repl_pair.wire import PERSON, UNATTACHED, View

REMEMBERED_CALLS = 10_000


class Boot:
    """One lifetime of the process, across attach and detach: its id, its calls; see `BOOT`."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Take a new id, and forget all calls."""
        self.id = uuid.uuid4().hex
        self._calls: dict[str, None] = {}

    def refuse_repeated(self, call_id: str) -> None:
        """Refuse a call that was accepted before: RequestError `bad_arguments`."""
        if call_id in self._calls:
            raise RequestError("bad_arguments", f"Call {call_id} came twice; it ran once.")

    def note_call(self, call_id: str) -> None:
        """Remember an accepted call; only the latest 10,000 are kept."""
        self._calls[call_id] = None
        if len(self._calls) > REMEMBERED_CALLS:
            del self._calls[next(iter(self._calls))]


BOOT = Boot()
"""The lifetime of this process."""

ATTACHED = Collection(name="clients", doc="Who is attached, by id.")
PERSON_STORE.declare(ATTACHED)


@record
class Client:
    """One attached link of an agent; `started` and `place` tell apart processes of one pid.

    `access` is what its latest call had open, None before the first.
    """

    id: str
    principal: str
    pid: int
    started: str | None = None
    place: str = ""
    access: frozenset[str] | None = None

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "Client":
        """Read the content of an ATTACH message."""
        return cls(
            id=str(data.get("id")),
            principal=str(data.get("principal", "unknown")),
            pid=int(data.get("pid", 0)),
            started=data.get("started"),
            place=str(data.get("place", "")),
        )


def this_process() -> dict[str, Any]:
    """Return the slots of a `Client` that describe this process."""
    return {"pid": os.getpid(), "started": _started(os.getpid()), "place": _place()}


def is_visible(client: Client) -> bool:
    """Return whether it can be seen from here that a client's process has ended."""
    # On other systems than POSIX, `os.kill` would end the process.
    return os.name == "posix" and client.place == _place()


def has_ended(client: Client) -> bool:
    """Return whether a client's process has certainly ended; False where that cannot be seen."""
    if not is_visible(client):
        return False
    try:
        os.kill(client.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return client.started is not None and _started(client.pid) != client.started


class Clients:
    """The attached clients, and whether the person allows or refuses clients; see `CLIENTS`.

    Call what changes it on the kernel's control thread only. Each change goes to `store`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.allowed_by_person = False
        self._refused_at: str | None = None
        self._attached: dict[str, Client] = {}

    def add(self, client: Client) -> None:
        """Add a client; KernelError `detached` if the person refuses clients."""
        if self._refused_at is not None:
            raise KernelError(
                "detached",
                f"The person took repl_pair out of this kernel at {self._refused_at}. "
                "`%pair attach` there lets agents in again; nothing was run.",
                next_steps=[next_step("list_kernels")],
                hints=["Ask the person to run `%pair attach` in that kernel, then call again."],
            )
        self._attached[client.id] = client
        self._publish()

    def remove(self, client_id: str) -> None:
        """Remove a client, if it is attached."""
        if self._attached.pop(client_id, None) is not None:
            self._publish()

    def check_attached(self, client_id: str | None) -> None:
        """Refuse a client that attached to an earlier host: it attaches again, and asks again."""
        if client_id is not None and client_id not in self._attached:
            why = "repl_pair was removed from this kernel meanwhile; nothing was run. Call again."
            raise RequestError("cancelled", why, detail={UNATTACHED: True})

    def note_access(self, client_id: str | None, access: frozenset[str]) -> None:
        """Note what a call of a client had open; a change of it is published."""
        client = self._attached.get(client_id or "")
        if client is not None and client.access != access:
            self._attached[client.id] = replace(client, access=access)
            self._publish()

    def present(self) -> list[Client]:
        """Return the clients whose processes are not known to have ended; forget the others."""
        ended = [client.id for client in tuple(self._attached.values()) if has_ended(client)]
        for client_id in ended:
            self.remove(client_id)
        return list(self._attached.values())

    def owners(self) -> frozenset[str]:
        """Return the ids and principals of the attached clients."""
        attached = tuple(self._attached.values())
        return frozenset(name for client in attached for name in (client.id, client.principal))

    def is_unused(self) -> bool:
        """Return whether no client is attached and the person has not allowed clients."""
        return not self._attached and not self.allowed_by_person

    def is_refused(self) -> bool:
        """Return whether the person refuses clients."""
        return self._refused_at is not None

    def allow(self) -> None:
        """Record that the person allows clients."""
        self.allowed_by_person, self._refused_at = True, None

    def refuse(self) -> None:
        """Record that the person refuses clients from now on."""
        self.allowed_by_person, self._refused_at = False, time.strftime("%H:%M")

    def forget(self) -> None:
        """Remove all clients and the person's `allow`; a `refuse` stays."""
        self._attached.clear()
        self.allowed_by_person = False
        self._publish()

    def _publish(self) -> None:
        self._store.reset(ATTACHED.name, self._attached)


@cache
def _place() -> str:
    """Return an id of the space that pids are unique in: a booted machine, or a container."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """Return the start time of a process in system ticks; None if it has ended or has none."""
    with suppress(OSError):
        with open(f"/proc/{pid}/stat") as file:
            state, *slots = file.read().rpartition(")")[2].split()
        return None if state in "ZX" else slots[18]
    return None


CLIENTS = Clients(PERSON_STORE)
"""The clients of this process."""

PAUSED = Cell(
    name="paused", doc="When the person paused agents, epoch seconds; else None.", default=None
)
PERSON_STORE.declare(PAUSED)


def pause() -> None:
    """Refuse every request of an agent, reads too, until `resume`.

    Runs under way continue, and calls that wait for approval keep waiting.
    """
    if PERSON_STORE.get(PAUSED.name) is None:
        PERSON_STORE.set(PAUSED.name, time.time())


def resume() -> None:
    """Accept requests of agents again."""
    if PERSON_STORE.get(PAUSED.name) is not None:
        PERSON_STORE.set(PAUSED.name, None)


def paused_since() -> float | None:
    """Return when the person paused agents, in epoch seconds; None where they did not."""
    return PERSON_STORE.get(PAUSED.name)


def check_pause(view: View) -> None:
    """Refuse an agent's request while agents are paused; KernelError `paused`."""
    since = PERSON_STORE.get(PAUSED.name)
    if since is None or view.principal == PERSON:
        return
    at = time.strftime("%H:%M", time.localtime(since))
    raise KernelError(
        "paused",
        f"The person paused agents in this kernel at {at}: nothing is read or run until they "
        "resume. Nothing was run.",
        hints=(
            "Ask the person to run `%pair resume` there, or `repl-pair resume`, then call again.",
        ),
    )
