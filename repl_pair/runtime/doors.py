"""The doors between a run and the rest of the process: put in together, taken out together."""

import sys
import threading
from collections.abc import Callable

from repl_pair.runtime import displays, file_descriptors, streams, threads
from repl_pair.runtime.captured import Captured, Undo
from repl_pair.runtime.children import put_into_children
from repl_pair.runtime.late_modules import Lookout
from repl_pair.runtime.origin import interactive_shell

lend = file_descriptors.lend


def put_in() -> None:
    """Put in what is not in; streams that are new and modules that were loaded meanwhile, too."""
    with _lock:
        streams.put_into_streams()
        shell = interactive_shell()
        if not _in:
            _in["loggers"] = [streams.put_into_loggers()]
            _in["threads"] = list(threads.put_into_threads())
            _in["children"] = list(put_into_children())
        if (key := f"displays of {type(shell)}") not in _in:
            _in[key] = list(displays.put_into_displays(shell))
        for name in _LATE:
            _put_into_loaded(name)


def take_out() -> None:
    """Take all out; what somebody has put over one of ours stays, and passes through it."""
    with _lock:
        while _in:
            _, undos = _in.popitem()
            for undo in reversed(undos):
                undo()
        streams.take_out_of_streams()
        file_descriptors.close()


def look_out(captured: Captured) -> None:
    """Until the run ends, put doors into the modules that somebody is the first to load."""
    missing = frozenset(name for name in _LATE if name not in _in)
    if missing:
        lookout = Lookout(missing, _put_into_loaded)
        captured.at_end.append(lookout.take_out)
        lookout.put_in()


_lock = threading.RLock()
_in: dict[str, list[Undo]] = {}


def _put_into_registry() -> Undo:
    from repl_pair.runtime import figures  # only where there is matplotlib

    return figures.put_into_registry()


def _put_into_inline() -> Undo:
    from repl_pair.runtime import figures  # only where there is matplotlib

    return figures.put_into_inline()


_LATE: dict[str, tuple[str, Callable[[], Undo]]] = {
    "matplotlib._pylab_helpers": ("Gcf", _put_into_registry),
    "matplotlib_inline.backend_inline": ("show", _put_into_inline),
    threads.POOLS: ("ThreadPoolExecutor", threads.put_into_pools),
}
"""Modules that may never be loaded, with the last name that we need of each."""


def _put_into_loaded(name: str) -> None:
    needed, put_into = _LATE[name]
    with _lock:
        if name not in _in and hasattr(sys.modules.get(name), needed):
            _in[name] = [put_into()]
