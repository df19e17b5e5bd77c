"""Which life of the process this is, who is attached to it, and whether the person allows it."""

import os
import socket
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from repl_pair.errors import KernelError, RequestError
from repl_pair.records import record
from repl_pair.runtime.surface import PERSONS, Collection, Store

REMEMBERED_CALLS = 10_000


class Boot:
    """What outlives every attach and detach; see `BOOT`."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        self._calls: dict[str, None] = {}

    def refuse_repeated(self, call_id: str) -> None:
        """Refuse a call that came before: no call runs twice."""
        if call_id in self._calls:
            raise RequestError("bad_arguments", f"Call {call_id} came twice; it ran once.")

    def note_call(self, call_id: str) -> None:
        """Remember a call, and forget the oldest of more than 10,000."""
        self._calls[call_id] = None
        if len(self._calls) > REMEMBERED_CALLS:
            del self._calls[next(iter(self._calls))]


BOOT = Boot()
"""The life of this process."""


ATTACHED = Collection(name="clients", doc="Who is attached, by id.")


PERSONS.declare(ATTACHED)


@record
class Client:
    """One link of an agent's; `started` and `place` tell its process from others of that pid.

    `started` is None where the system does not say when a process began.
    """

    id: str
    principal: str
    pid: int
    started: str | None = None
    place: str = ""

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
    """Return the slots of a `Client` that this process fills."""
    return {"pid": os.getpid(), "started": _started(os.getpid()), "place": _place()}


def has_ended(client: Client) -> bool:
    """Return whether a client's process surely is no more; what cannot be seen is taken to live."""
    # Where the system is not POSIX, asking with a signal would end the process.
    if os.name != "posix" or client.place != _place():
        return False
    try:
        os.kill(client.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return client.started is not None and _started(client.pid) != client.started


class Clients:
    """The links that attached and did not leave, and the person's word; see `CLIENTS`.

    Changed on the control thread of a kernel only. Who follows changes looks at `store`.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self.allowed_by_person = False
        self._refused_at: str | None = None
        self._entered: dict[str, Client] = {}

    def add(self, client: Client) -> None:
        """Note a client; KernelError `detached` if the person wants none."""
        if self._refused_at is not None:
            raise _detached(self._refused_at)
        self._entered[client.id] = client
        self._tell()

    def remove(self, client_id: str) -> None:
        """Forget a client."""
        if self._entered.pop(client_id, None) is not None:
            self._tell()

    def present(self) -> list[Client]:
        """Return the clients whose processes are not known to have ended; forget the others."""
        ended = [client.id for client in tuple(self._entered.values()) if has_ended(client)]
        for client_id in ended:
            self.remove(client_id)
        return list(self._entered.values())

    def owners(self) -> frozenset[str]:
        """Name those that were let in, and for whom they work."""
        entered = tuple(self._entered.values())
        return frozenset(name for client in entered for name in (client.id, client.principal))

    def is_unused(self) -> bool:
        """Return whether nobody is left: no client that was not forgotten, and not the person."""
        return not self._entered and not self.allowed_by_person

    def is_refused(self) -> bool:
        """Return whether the person wants none."""
        return self._refused_at is not None

    def allow(self) -> None:
        """Note that the person wants agents here."""
        self.allowed_by_person, self._refused_at = True, None

    def refuse(self) -> None:
        """Note that the person wants no agents here, from now on."""
        self.allowed_by_person, self._refused_at = False, time.strftime("%H:%M")

    def forget(self) -> None:
        """Forget who attached and whether the person holds; a refusal stands."""
        self._entered.clear()
        self.allowed_by_person = False
        self._tell()

    def _tell(self) -> None:
        if self._store is not None:
            self._store.reset(ATTACHED.name, self._entered)


def _detached(at: str) -> KernelError:
    return KernelError(
        "detached",
        f"The person took repl_pair out of this kernel at {at}. `%pair attach` there lets agents "
        "in again; nothing was run.",
        next_steps=(
            "Ask the person to run `%pair attach` in that kernel, then call again.",
            "list_kernels() for others",
        ),
    )


@cache
def _place() -> str:
    """Name what pids are counted in: a machine since its start, or a container on it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """Return when a process began, in the system's ticks; None of one that has ended."""
    with suppress(OSError):
        with open(f"/proc/{pid}/stat") as file:
            state, *slots = file.read().rpartition(")")[2].split()
        return None if state in "ZX" else slots[18]
    return None


CLIENTS = Clients(PERSONS)
"""Who holds this kernel."""
