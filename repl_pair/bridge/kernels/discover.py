"""Finds kernels by their connection files, processes, heartbeats and Jupyter Servers."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.files import fault_of, read_own
from repl_pair.bridge.kernels.heartbeat import (
    HEARTBEAT_S,
    find_answering,
    find_refusing,
    heartbeat_address,
)
from repl_pair.bridge.kernels.processes import Started, read_or, scan_processes
from repl_pair.bridge.kernels.servers import Hosted, ask_servers

_PORTS = {"hb_port", "control_port", "iopub_port"}


@dataclass(frozen=True, kw_only=True)
class FoundKernel:
    """One kernel, the content of its connection file, and what its Jupyter Server knows of it."""

    kernel: KernelInfo
    connection: Mapping[str, Any]
    hosted: Hosted | None


@dataclass(frozen=True, kw_only=True)
class _File:
    """A readable connection file, when it was written, and the process started with it."""

    path: Path
    info: Mapping[str, Any]
    written: float
    started: Started | None


def find_kernels(*, runtime_dir: Path | None = None) -> list[KernelInfo]:
    """Return every kernel of this machine that our user may connect to, living ones first.

    Looks into Jupyter's runtime dir and at the command lines of processes; where the environment
    sets JUPYTER_RUNTIME_DIR, only at processes for which it is the same. All heartbeats and servers
    together take at most half a second. Deletes nothing.
    """
    return [found.kernel for found in discover_kernels(runtime_dir=runtime_dir)]


def discover_kernels(*, runtime_dir: Path | None = None) -> list[FoundKernel]:
    """Return the kernels of `find_kernels` with what was found about them."""
    return _discover(runtime_dir or Path(jupyter_runtime_dir()), None)


def find_kernel(path: str | Path) -> KernelInfo | None:
    """Return the kernel of one connection file; None if there is no such file of our user's."""
    real = _real(Path(path))
    return next((found.kernel for found in _discover(real.parent, real)), None)


def _discover(folder: Path, only: Path | None) -> list[FoundKernel]:
    """Look for kernels whose files are in a folder or named by processes, or of one file only."""
    servers = ask_servers(folder)
    runtime_dir = os.environ.get("JUPYTER_RUNTIME_DIR")
    processes = {
        path: started
        for path, started in scan_processes().items()
        if runtime_dir is None
        or read_or({}, started.process.environ).get("JUPYTER_RUNTIME_DIR") == runtime_dir
    }
    paths = {only} if only else {_real(p) for p in folder.glob("kernel-*.json")} | set(processes)
    files = [file for path in sorted(paths) if (file := _read(path, processes.get(path)))]
    alive = _living(files)
    hosted = {id: kernel for answer in servers() for id, kernel in answer.kernels.items()}
    kernels = [_make_found(file, n in alive, hosted) for n, file in enumerate(files)]
    return sorted(kernels, key=lambda each: (not each.kernel.alive, each.kernel.id))


def heartbeat_answers(info: Mapping[str, Any], *, timeout_s: float = HEARTBEAT_S) -> bool:
    """Return whether the heartbeat of one connection file's content answers in time."""
    return find_answering({0: info}, timeout_s=timeout_s) == {0}


def read_connection(path: str | Path) -> Mapping[str, Any] | None:
    """Return the content of a connection file of our user's; None for any other file."""
    info = read_own(Path(path))
    return info if info is not None and info.keys() >= _PORTS else None


def unusable_files(*, runtime_dir: Path | None = None) -> Iterator[tuple[Path, str]]:
    """Return the connection files in Jupyter's runtime dir that are not used, and why."""
    folder = runtime_dir or Path(jupyter_runtime_dir())
    for path in sorted(folder.glob("kernel-*.json")):
        if fault := fault_of(path):
            yield path, fault
        elif read_connection(path) is None:
            yield path, "it is no connection file"


def _read(path: Path, started: Started | None) -> _File | None:
    info = read_connection(path)
    if info is None:
        return None
    try:
        written = path.stat().st_mtime
    except FileNotFoundError:
        return None
    return _File(path=path, info=info, written=written, started=started)


def _living(files: list[_File]) -> set[int]:
    """Return the positions of the living ones; of several files with one address, the newest."""
    running = {
        n: file.info
        for n, file in enumerate(files)
        if file.started is None or not file.started.halted
    }
    refusing = find_refusing(running)
    answering = find_answering({n: info for n, info in running.items() if n not in refusing})
    newest: dict[object, float] = {}
    for n in answering:
        address = heartbeat_address(files[n].info)
        newest[address] = max(newest.get(address, 0.0), files[n].written)
    return {n for n in answering if newest[heartbeat_address(files[n].info)] == files[n].written}


def _make_found(file: _File, alive: bool, servers: Mapping[str, Hosted]) -> FoundKernel:
    id = file.path.stem.removeprefix("kernel-")
    hosted, started = servers.get(id), file.started
    # A server follows renamed notebooks.
    notebook = file.info.get("jupyter_session") or (started.notebook if started else None)
    kernel = KernelInfo(
        id=id,
        name=str(file.info.get("kernel_name") or "unnamed"),
        pid=started.process.pid if started else None,
        path=str(file.path),
        notebook=hosted.notebook if hosted and hosted.session else notebook,
        alive=alive,
        began=started.began if started else None,
        front_end="jupyter-server" if hosted else started.front_end if started else None,
    )
    return FoundKernel(kernel=kernel, connection=file.info, hosted=hosted)


def _real(path: Path) -> Path:
    return path.expanduser().resolve()
