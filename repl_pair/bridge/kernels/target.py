"""Chooses the kernel that a caller means among those that were found."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.processes import EMBEDDED, WORKER
from repl_pair.bridge.silence.refusals import gone, silent
from repl_pair.bridge.silence.states import ENDED, find_process, judge_by_process, status_of
from repl_pair.errors import KernelError, did_you_mean, next_step

MIN_PREFIX = 6
HOW_TO_START = (
    "Ask the person to start a kernel: JupyterLab, VS Code or `jupyter console`.",
    "In that kernel, the person runs `%load_ext repl_pair`, then `%pair attach`.",
)


def resolve(target: str, kernels: Sequence[KernelInfo]) -> KernelInfo:
    """Return the one living kernel that `target` names.

    `target` is a connection file, a kernel id or a unique beginning of it (6 characters and more),
    a pid, a notebook's path or its file name, or the name of an embedded kernel. KernelError
    `ambiguous_kernel`, `no_kernel` (with the nearest names), `kernel_gone` (named but dead) or
    `kernel_unresponsive` (its process exists, its heartbeat does not answer).
    """
    found = named(target, kernels)
    living = [kernel for kernel in found if kernel.alive]
    if len(living) == 1:
        return living[0]
    if living:
        raise _ambiguous(living, f"{target!r} names {len(living)} living kernels")
    raise _silent(found[0]) if found else _unknown(target, kernels)


def named(target: str, kernels: Sequence[KernelInfo]) -> Sequence[KernelInfo]:
    """Return the kernels that `target` names, living or not, by the first way that names any."""
    ways = ([kernel for kernel in kernels if means(kernel)] for means in _ways_to_name(target))
    return next(filter(None, ways), ())


def choose_only(kernels: Sequence[KernelInfo]) -> KernelInfo:
    """Return the only living kernel; `ambiguous_kernel` for several, `no_kernel` for none.

    `kernel_unresponsive` if none lives but one has a process, which may be stopped.
    """
    living = [kernel for kernel in kernels if kernel.alive]
    if not living:
        for kernel in kernels:
            if kernel.pid is not None and psutil.pid_exists(kernel.pid):
                raise _silent(kernel)
        raise KernelError("no_kernel", "No live kernel was found.", hints=HOW_TO_START)
    if len(living) > 1:
        raise _ambiguous(living, f"{len(living)} kernels are alive and none was chosen")
    return living[0]


def may_have_ended(kernel: KernelInfo) -> bool:
    """Return whether a kernel's process or connection file is gone; after a restart it may live."""
    has_ended = kernel.pid is not None and (status_of(find_process(kernel.pid)) or "gone") in ENDED
    return has_ended or not os.path.isfile(kernel.path)


def _silent(kernel: KernelInfo) -> KernelError:
    silence = judge_by_process(find_process(kernel.pid))
    if silence.state == "gone":
        return gone(kernel)
    error = silent(kernel, silence)
    error.detail["kernel"] = kernel.to_wire()
    return error


def _ambiguous(living: Sequence[KernelInfo], what: str) -> KernelError:
    first = living[0].id
    return KernelError(
        "ambiguous_kernel",
        f"{what}: {'; '.join(kernel.label for kernel in living)}. Choose one; none is taken by "
        "default.",
        detail={"kernels": [kernel.to_wire() for kernel in living]},
        next_steps=[next_step("list_kernels"), next_step("use_kernel", kernel=first)],
        hints=["Each call takes the kernel that it is for as `kernel`, a command as `--kernel`."],
    )


def _unknown(target: str, kernels: Sequence[KernelInfo]) -> KernelError:
    living = [kernel for kernel in kernels if kernel.alive]
    if not living:
        message = f"No kernel {target!r}, and no other live kernel was found."
        return KernelError("no_kernel", message, hints=HOW_TO_START)
    names = {name for kernel in living for name in (kernel.id, *_names(kernel))}
    return KernelError(
        "no_kernel",
        f"No kernel {target!r}. A kernel is named by its id, pid, connection file or "
        "notebook, and one that a program has embedded by its name."
        f"{did_you_mean(target, names)}",
        next_steps=[next_step("list_kernels")],
    )


def _ways_to_name(target: str) -> Sequence[Callable[[KernelInfo], bool]]:
    """Return the ways in which a kernel may be meant, the first that fits any kernel counts."""
    place = Path(os.path.realpath(os.path.expanduser(target)))

    def is_of_notebook(kernel: KernelInfo) -> bool:
        file = kernel.notebook
        return file is not None and (target == file or place == Path(file).resolve())

    return (
        lambda kernel: place == Path(kernel.path),
        lambda kernel: target == kernel.id,
        lambda kernel: target == str(kernel.pid),
        is_of_notebook,
        lambda kernel: target in _names(kernel),
        lambda kernel: len(target) >= MIN_PREFIX and kernel.id.startswith(target),
    )


def _names(kernel: KernelInfo) -> tuple[str, ...]:
    """Return the ways a notebook's path ends: `c.ipynb`, `b/c.ipynb`, …; or the name of a kernel
    that a program or a session has started.
    """
    if kernel.front_end in (EMBEDDED, WORKER):
        return (kernel.name,)
    parts = Path(kernel.notebook or "").parts
    return tuple("/".join(parts[n:]) for n in range(1, len(parts)))
