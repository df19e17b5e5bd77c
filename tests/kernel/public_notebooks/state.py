"""What of a kernel must be the same whether an agent was there or not, as JSON."""

import asyncio
import gc
import json
import logging
import os
import random
import re
import signal
import sys
import threading
import warnings
from hashlib import sha256
from typing import Any

FIRST: dict[str, object] = {}
"""The objects that stood at the first look."""
OF_ONE_PROCESS = re.compile(
    r"0x[0-9a-f]+|ipykernel_\d+|(?<=Task-)\d+|(?<=Handler )\d+|kernel-\d+\.log"
    r"|/[^ ']*/(alone|beside)"
)
"""Addresses, and what has a number or a folder of its own in each process."""
PASSING = ("__warningregistry__",)


def state() -> str:
    """Return the state; the first call seeds `random` and keeps which objects stood then."""
    if not FIRST:
        random.seed(0)
        FIRST.update(_objects())
    _collect()
    return json.dumps(_state(), default=str)


def _state() -> dict[str, Any]:
    shell = _shell()
    names = shell.user_ns
    return {
        "In": names["In"][:-1],
        "Out": {n: _text(value) for n, value in names["Out"].items()},
        "names": {n: _text(v) for n, v in names.items() if n not in (*PASSING, "In", "Out")},
        "count": shell.execution_count,
        "same objects": {name: thing is FIRST[name] for name, thing in _objects().items()},
        "threads": sorted(re.sub(r"\d+", "N", t.name) for t in threading.enumerate()),
        "files": sorted(_files()),
        "loggers": {
            name: [one.level, [_text(h) for h in one.handlers], [_text(f) for f in one.filters]]
            for name, one in {"root": logging.root, **logging.root.manager.loggerDict}.items()
            if isinstance(one, logging.Logger) and not name.startswith(("repl_pair", "asyncio"))
        },
        "warnings": [_text(one) for one in warnings.filters],
        "signals": {n.name: _text(signal.getsignal(n)) for n in signal.Signals},
        "hooks": [
            _text(one) for one in (sys.excepthook, sys.displayhook, sys.gettrace(), *sys.meta_path)
        ],
        "events": {n: [_text(hook) for hook in h] for n, h in shell.events.callbacks.items()},
        "handlers": [*shell.kernel.control_handlers, *shell.kernel.shell_handlers],
        "tasks": sorted(t.get_coro().__qualname__ for t in asyncio.all_tasks(_loop())),
        "cwd": [_text(os.getcwd()), sorted(os.listdir())],
        "environ": dict(os.environ),
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold()],
        "random": _digest(random.getstate()),
        **{
            name: read(sys.modules[name]) for name, read in LIBRARIES.items() if name in sys.modules
        },
    }


LIBRARIES = {
    "numpy": lambda np: [_digest(np.random.get_state()), str(np.get_printoptions()), np.geterr()],
    "pandas": lambda pd: str(sys.modules["pandas._config.config"]._global_config),
    "matplotlib": lambda mpl: {n: str(mpl.rcParams._get(n)) for n in mpl.rcParams},
    "matplotlib.pyplot": lambda plt: [plt.get_fignums(), plt.isinteractive(), plt.get_backend()],
    "ipywidgets": lambda w: sorted(type(one).__name__ for one in w.widget._instances.values()),
    "comm": lambda comm: len(comm.get_comm_manager().comms),
    "tqdm": lambda tqdm: len(tqdm.tqdm._instances),
}
"""What libraries keep for a whole process, of those that the notebook has imported."""


def _objects() -> dict[str, object]:
    shell = _shell()
    streams = (sys.stdout, sys.stderr, shell.displayhook, shell.display_pub, sys.displayhook)
    writes = [getattr(type(stream), "write", None) for stream in streams[:2]]
    prompts = (__builtins__["input"], shell.kernel.session.send, warnings.showwarning)
    return {str(n): thing for n, thing in enumerate((*streams, *writes, *prompts))}


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def _loop() -> Any:
    return _shell().kernel.io_loop.asyncio_loop


def _text(value: object) -> str:
    return f"{type(value).__name__} {OF_ONE_PROCESS.sub('<>', repr(value))[:300]}"


def _digest(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:12]


def _files() -> Any:
    for number in os.listdir("/proc/self/fd"):
        try:
            yield re.sub(r"\[\d+\]", "", _text(os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            continue  # the one that lists the others


def _collect() -> None:
    """Let ipykernel close the files of threads that have ended, which it does each ten seconds."""
    gc.collect()
    iopub = _shell().kernel.iopub_thread
    collecting = iopub._event_pipe_gc()
    asyncio.run_coroutine_threadsafe(collecting, iopub.io_loop.asyncio_loop).result(60)
