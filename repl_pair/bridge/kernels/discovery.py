"""Finds kernels by their connection files, processes, heartbeats and Jupyter Servers."""

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import psutil
from jupyter_core.paths import jupyter_runtime_dir

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.heartbeat import (
    BUSY_MACHINE_S,
    HEARTBEAT_S,
    Connection,
    find_answering,
    find_refusing,
    heartbeat_address,
    other_addresses,
)
from repl_pair.bridge.kernels.processes import (
    KernelProcess,
    find_embedding,
    read_or,
    scan_processes,
)
from repl_pair.bridge.kernels.servers import ServerKernel, ask_servers, fault_of, read_own
from repl_pair.bridge.silence.states import judge_by_process

_PORTS = {"hb_port", "control_port", "iopub_port"}
_TEXTS = ("ip", "transport", "kernel_name", "jupyter_session")


@dataclass(frozen=True, kw_only=True)
class FoundKernel:
    """One kernel, the content of its connection file, and what its Jupyter Server knows of it."""

    kernel: KernelInfo
    connection: Connection
    hosted: ServerKernel | None


def find_kernels() -> list[KernelInfo]:
    """Return every kernel of this machine that our user may connect to, living ones first.

    Looks into Jupyter's runtime dir and at the command lines of processes; where the environment
    sets JUPYTER_RUNTIME_DIR, only at processes for which it is the same. All heartbeats and servers
    together take at most half a second, twice as long where two files name one port for different
    sockets; up to four seconds more for processes that get no time to run. Deletes nothing.
    """
    return [found.kernel for found in discover_kernels()]


def find_kernel(path: str | Path) -> KernelInfo | None:
    """Return the kernel of one connection file; None if there is no such file of our user's."""
    return next((found.kernel for found in discover_kernels(only=_real(Path(path)))), None)


def discover_kernels(*, only: Path | None = None) -> list[FoundKernel]:
    """Return the kernels of `find_kernels`, or of one file, with what was found about them."""
    folder = only.parent if only else Path(jupyter_runtime_dir())
    servers = ask_servers(folder)
    runtime_dir = os.environ.get("JUPYTER_RUNTIME_DIR")
    processes = {
        path: started
        for path, started in scan_processes().items()
        if runtime_dir is None
        or read_or({}, started.process.environ).get("JUPYTER_RUNTIME_DIR") == runtime_dir
    }
    named = {only} if only else {_real(p) for p in folder.glob("kernel-*.json")}
    paths = sorted(named | processes.keys())
    infos = {path: info for path in paths if (info := read_connection(path))}
    if only:
        infos = _beside(only, infos)
    for path, info in infos.items():
        if embedding := find_embedding(path, info.get("embedding_pid")):
            processes.setdefault(path, embedding)
    halted = {path for path, started in processes.items() if started.halted}
    running = {path: info for path, info in infos.items() if path not in halted}
    alive = _living(running, processes)
    hosted = {id: kernel for answer in servers() for id, kernel in answer.kernels.items()}
    kernels = [
        _make_found(path, info, processes.get(path), path in alive, hosted)
        for path, info in infos.items()
        if only in (None, path)
    ]
    return sorted(kernels, key=lambda each: (not each.kernel.alive, each.kernel.id))


def heartbeat_answers(info: Connection, *, timeout_s: float = HEARTBEAT_S) -> bool:
    """Return whether the heartbeat of one connection file's content answers in time."""
    return bool(find_answering({Path(): info}, timeout_s=timeout_s))


def read_connection(path: str | Path) -> Connection | None:
    """Return the content of a connection file of our user's; None for any other file."""
    info = read_own(Path(path)) or {}
    try:
        "".join(info.get(slot) or "" for slot in _TEXTS).encode()
    except (TypeError, ValueError):  # no text, or half a surrogate pair
        return None
    ports = [value for slot, value in info.items() if slot.endswith("_port")]
    is_sound = info.keys() >= _PORTS and all(type(port) is int for port in ports)
    return info if is_sound else None


def unusable_files() -> Iterator[tuple[Path, str]]:
    """Return the connection files in Jupyter's runtime dir that are not used, and why."""
    for path in sorted(Path(jupyter_runtime_dir()).glob("kernel-*.json")):
        if fault := fault_of(path):
            yield path, fault
        elif read_connection(path) is None:
            yield path, "it is not a connection file"


def _beside(only: Path, infos: Mapping[Path, Connection]) -> dict[Path, Connection]:
    """Return one file and those that name its heartbeat's address too; none without that file."""
    if only not in infos:
        return {}
    address = heartbeat_address(infos[only])
    taken = {path: {heartbeat_address(i), *other_addresses(i)} for path, i in infos.items()}
    return {path: info for path, info in infos.items() if address in taken[path]}


def _living(
    running: Mapping[Path, Connection], processes: Mapping[Path, KernelProcess]
) -> set[Path]:
    """Return the living ones; of several files with one address, that of a process, or the newest.

    A kernel may have got the port of one that ended for another socket, where a heartbeat is an
    error that ipykernel prints: such ports are asked last, and not where that kernel lives.
    """
    refusing = find_refusing(running)
    left = {path: info for path, info in running.items() if path not in refusing}
    sure = _outside(left, left.values())
    doubtful = {path: info for path, info in left.items() if path not in sure}
    living = _one_each(sure, _answering(sure, processes), processes.keys())
    others = _answering(_outside(doubtful, [left[p] for p in living]), processes)
    return living | _one_each(left, others, processes.keys())


def _answering(
    infos: Mapping[Path, Connection], processes: Mapping[Path, KernelProcess]
) -> set[Path]:
    """Return the files whose heartbeat answers, late where its process gets no time to run."""
    answered = find_answering(infos)
    late = {
        path: infos[path]
        for path in infos.keys() & processes.keys() - answered
        if _may_answer_late(processes[path].process)
    }
    return answered | find_answering(late, timeout_s=BUSY_MACHINE_S)


def _may_answer_late(process: psutil.Process) -> bool:
    """Return whether a process may get no time; a fork has the sockets too, but one thread."""
    try:
        return judge_by_process(process).state == "starved" and process.num_threads() > 1
    except psutil.Error:
        return False


def _one_each(
    infos: Mapping[Path, Connection], answering: Iterable[Path], owned: Set[Path]
) -> set[Path]:
    """Return one of the files that name one heartbeat: what a process has, else the newest."""
    best_last = sorted(answering, key=lambda path: (path in owned, _time_written(path), path))
    return set({heartbeat_address(infos[path]): path for path in best_last}.values())


def _outside(
    infos: Mapping[Path, Connection], kernels: Iterable[Connection]
) -> dict[Path, Connection]:
    """Return those whose heartbeat is at no other socket of any of these kernels."""
    taken = {address for kernel in kernels for address in other_addresses(kernel)}
    return {path: info for path, info in infos.items() if heartbeat_address(info) not in taken}


def _time_written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _make_found(
    path: Path,
    info: Connection,
    started: KernelProcess | None,
    alive: bool,
    known: Mapping[str, ServerKernel],
) -> FoundKernel:
    id = path.stem.removeprefix("kernel-")
    hosted = known.get(id)
    # A server follows renamed notebooks.
    notebook = info.get("jupyter_session") or (started.notebook if started else None)
    kernel = KernelInfo(
        id=id,
        name=str(info.get("kernel_name") or "unnamed"),
        pid=started.process.pid if started else None,
        path=str(path),
        notebook=hosted.notebook if hosted and hosted.session else notebook,
        alive=alive,
        began=started.began if started else None,
        front_end="jupyter-server" if hosted else started.front_end if started else None,
    )
    return FoundKernel(kernel=kernel, connection=info, hosted=hosted)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path.expanduser()))  # `resolve` raises for a link to itself
