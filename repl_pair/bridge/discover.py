"""Which kernels there are: connection files, processes, heartbeats."""

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import psutil
import zmq
from jupyter_core.paths import jupyter_runtime_dir

from repl_pair.bridge.link import KernelInfo

HEARTBEAT_S = 0.5
"""A kernel whose heartbeat stays silent this long counts as dead."""

_RUNTIME = "JUPYTER_RUNTIME_DIR"
_PORTS = {"hb_port", "control_port", "iopub_port"}


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A legible connection file, its age and the process that was started with it."""

    path: Path
    info: Mapping[str, Any]
    written: float
    pid: int | None


def find_kernels(*, runtime_dir: Path | None = None) -> list[KernelInfo]:
    """Give every kernel of this machine whose connection file we may read, living ones first.

    Looks into Jupyter's runtime dir and at the command lines of processes; where the environment
    sets JUPYTER_RUNTIME_DIR, only at processes for which it is the same. All heartbeats together
    take at most `HEARTBEAT_S`. Deletes nothing.
    """
    processes = dict(_started_with_files())
    folder = runtime_dir or Path(jupyter_runtime_dir())
    paths = {_real(path) for path in folder.glob("kernel-*.json")} | set(processes)
    found = [entry for path in sorted(paths) if (entry := _read(path, processes.get(path)))]
    return sorted(_kernels(found), key=lambda kernel: (not kernel.alive, kernel.id))


def find_kernel(path: str | Path) -> KernelInfo | None:
    """Give the kernel of one connection file; None if there is no such legible file."""
    real = _real(Path(path))
    entry = _read(real, dict(_started_with_files()).get(real))
    return _kernels([entry])[0] if entry else None


def beats(info: Mapping[str, Any], *, timeout_s: float = HEARTBEAT_S) -> bool:
    """Say whether the heartbeat of one connection file's content answers in time."""
    return _beating([info], timeout_s=timeout_s) == {0}


def read_connection(path: str | Path) -> Mapping[str, Any] | None:
    """Give the content of a connection file; None for anything else."""
    try:
        info: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", info) if _keys(info) >= _PORTS else None


def _kernels(found: list[_Found]) -> list[KernelInfo]:
    beating = _beating([entry.info for entry in found])
    newest: dict[object, float] = {}
    for n in beating:
        door = _address(found[n].info)
        newest[door] = max(newest.get(door, 0.0), found[n].written)
    return [
        _describe(entry, n in beating and newest[_address(entry.info)] == entry.written)
        for n, entry in enumerate(found)
    ]


def _describe(entry: _Found, alive: bool) -> KernelInfo:
    return KernelInfo(
        id=entry.path.stem.removeprefix("kernel-"),
        name=str(entry.info.get("kernel_name") or "unnamed"),
        pid=entry.pid,
        path=str(entry.path),
        notebook=entry.info.get("jupyter_session") or None,
        alive=alive,
    )


def _read(path: Path, pid: int | None) -> _Found | None:
    info = read_connection(path)
    if info is None:
        return None
    try:
        written = path.stat().st_mtime
    except FileNotFoundError:
        return None
    return _Found(path=path, info=info, written=written, pid=pid)


def _started_with_files() -> Iterator[tuple[Path, int]]:
    """Give the connection files named on command lines (`-f X`, `-f=X`, `--f=X`), with the pid."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words: list[str] = process.info["cmdline"] or []
        for name in _files_named(words):
            if _is_of_our_runtime(process):
                yield _real(Path(process.info["cwd"] or "/", name)), process.pid


def _is_of_our_runtime(process: psutil.Process) -> bool:
    """Say no to kernels of another runtime dir, if our environment names one."""
    ours = os.environ.get(_RUNTIME)
    try:
        return ours is None or process.environ().get(_RUNTIME) == ours
    except psutil.Error:
        return False


def _files_named(words: list[str]) -> Iterator[str]:
    for word, following in pairwise([*words, ""]):
        name = following if word == "-f" else ""
        for option in ("-f=", "--f="):
            name = word.removeprefix(option) if word.startswith(option) else name
        if name.endswith(".json"):
            yield name


def _beating(infos: list[Mapping[str, Any]], *, timeout_s: float = HEARTBEAT_S) -> set[int]:
    """Give the positions of those whose heartbeat answers; all are asked at once."""
    context = zmq.Context()
    poller = zmq.Poller()
    asked = {socket: n for n, info in enumerate(infos) if (socket := _ask(context, info))}
    for socket in asked:
        poller.register(socket, zmq.POLLIN)
    answered: set[int] = set()
    until = time.monotonic() + timeout_s
    while len(answered) < len(asked) and (left := until - time.monotonic()) > 0:
        for socket, _ in poller.poll(math.ceil(left * 1000)):
            poller.unregister(socket)
            answered.add(asked[socket])
    context.destroy(linger=0)
    return answered


def _ask(
    context: "zmq.Context[zmq.Socket[bytes]]", info: Mapping[str, Any]
) -> "zmq.Socket[bytes] | None":
    """Send one beat; None where the file's address or keys are not legal, so nobody can answer."""
    socket = context.socket(zmq.REQ)
    try:
        if info.get("curve_publickey"):
            socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
            socket.curve_serverkey = str(info["curve_publickey"]).encode()
        socket.connect(_address(info))
    except zmq.ZMQError:
        socket.close(linger=0)
        return None
    socket.send(b"repl_pair")
    return socket


def _address(info: Mapping[str, Any]) -> str:
    if info.get("transport", "tcp") == "tcp":
        return f"tcp://{info.get('ip', '127.0.0.1')}:{info['hb_port']}"
    return f"{info['transport']}://{info.get('ip')}-{info['hb_port']}"


def _keys(info: Any) -> set[str]:
    return set(cast("dict[str, Any]", info)) if isinstance(info, dict) else set()


def _real(path: Path) -> Path:
    return path.expanduser().resolve()
