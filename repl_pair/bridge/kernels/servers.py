"""Jupyter's runtime files, and what this machine's Jupyter Servers answer about their kernels."""

import json
import os
import ssl
import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, TypeAlias, cast

import psutil

BOUND_S = 0.5
"""How long all servers together may take."""

_Json: TypeAlias = Mapping[str, Any]
_LARGEST = 4_000_000
_FAULTS = (OSError, HTTPException, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a server that does not answer, or answers something else."""
_SILENT = f"it did not answer within {BOUND_S:g} s"
_LOOPBACK = {"::1": "::1"} | dict.fromkeys(
    ("127.0.0.1", "localhost", "", "*", "0.0.0.0", "::"), "127.0.0.1"
)
"""Where to ask a server, by what it is bound to."""
_UNTRACKED = "?no_track_activity=1"
"""Keeps these requests from counting as activity of the server."""


@dataclass(frozen=True, kw_only=True)
class ServerKernel:
    """One kernel as its server reports it.

    `state` is Jupyter's own, `active` the last activity in seconds since the epoch. `notebook` is
    None although there is a `session` where the kernel's user is not a notebook.
    """

    state: str
    active: float | None
    session: bool
    notebook: str | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one server answered, or in `fault` why it did not."""

    server: str
    kernels: Mapping[str, ServerKernel] = field(default_factory=dict[str, ServerKernel])
    fault: str = ""


def ask_servers(folder: Path) -> Callable[[], Sequence[Answer]]:
    """Begin to ask the servers whose runtime files are in `folder`, all at once.

    Returns a function that waits for them until `BOUND_S` after the beginning. Only servers that
    listen on the loopback interface are asked, and only those whose files our own user owns.
    """
    known = [info for file in sorted(folder.glob("jpserver-*.json")) if (info := _running(file))]
    answers = {_name(info): Answer(server=_name(info), fault=_SILENT) for info in known}

    def ask(info: _Json) -> None:
        answers[_name(info)] = _ask(info)

    threads = [threading.Thread(target=ask, args=(info,), daemon=True) for info in known]
    for thread in threads:
        thread.start()
    until = time.monotonic() + BOUND_S

    def collect() -> Sequence[Answer]:
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return tuple(answers.values())

    return collect


def _running(file: Path) -> _Json | None:
    """Return a runtime file's content if the process that wrote it still runs."""
    info = read_own(file)
    if info is None or not {"port", "pid", "base_url", "hostname"} <= info.keys():
        return None
    try:
        began = psutil.Process(int(info["pid"])).create_time()
        return info if began <= file.stat().st_mtime + 1 else None
    except (psutil.Error, OSError, TypeError, ValueError):
        return None


def _ask(info: _Json) -> Answer:
    if info.get("sock") or str(info["hostname"]) not in _LOOPBACK:
        return Answer(server=_name(info), fault="it does not listen on a loopback port")
    try:
        with closing(_connect(info)) as connection:
            kernels = _get(connection, info, "api/kernels")
            sessions = _get(connection, info, "api/sessions")
        return Answer(server=_name(info), kernels=_read(kernels, sessions, info))
    except _FAULTS as error:
        # The error's text is left out: it may hold the server's token.
        return Answer(server=_name(info), fault=f"it could not be asked ({type(error).__name__})")


def _name(info: _Json) -> str:
    return f"Jupyter Server on port {info['port']} (pid {info['pid']})"


def _connect(info: _Json) -> HTTPConnection:
    host = _LOOPBACK[str(info["hostname"])]
    if not info.get("secure"):
        return HTTPConnection(host, int(info["port"]), timeout=BOUND_S)
    # Such certificates are mostly self-signed, and the process of the file is the one that listens.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return HTTPSConnection(host, int(info["port"]), timeout=BOUND_S, context=context)


def _get(connection: HTTPConnection, info: _Json, path: str) -> list[_Json]:
    """Return a list from the server; ValueError where it refuses or answers something else."""
    token = info.get("token")
    headers = {"Authorization": f"token {token}"} if token else {}
    connection.request("GET", f"{info['base_url']}{path}{_UNTRACKED}", headers=headers)
    reply = connection.getresponse()
    body = reply.read(_LARGEST)
    if reply.status != 200:
        raise ValueError(reply.status)
    return list(json.loads(body))


def _read(kernels: list[_Json], sessions: list[_Json], info: _Json) -> Mapping[str, ServerKernel]:
    used: dict[str, list[_Json]] = {kernel["id"]: [] for kernel in kernels}
    for session in sessions:
        used.setdefault(session["kernel"]["id"], []).append(session)
    hosted: dict[str, ServerKernel] = {}
    for kernel in kernels:
        own, active = used[kernel["id"]], kernel.get("last_activity")
        paths = sorted(session["path"] for session in own if session.get("type") == "notebook")
        hosted[kernel["id"]] = ServerKernel(
            state=str(kernel.get("execution_state")),
            active=datetime.fromisoformat(active).timestamp() if active else None,
            session=bool(own),
            notebook=str(Path(info.get("root_dir") or "/", paths[0].lstrip("/")))
            if paths
            else None,
        )
    return hosted


_LARGEST_FILE = 65_536
"""Runtime files are smaller; other files that a command line names may be larger."""


def read_own(path: Path) -> Mapping[str, Any] | None:
    """Return the JSON object in a file of our user's; None for anything else, which is not read."""
    if fault_of(path):
        return None
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def fault_of(path: Path) -> str | None:
    """Describe why a file is not read; None if it is."""
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or "it cannot be seen"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    # Windows has no such owner: there only the user can read the files of a profile.
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_size > _LARGEST_FILE:
        return f"it is larger than {_LARGEST_FILE} bytes"
    return None if os.access(path, os.R_OK) else "it may not be read"
