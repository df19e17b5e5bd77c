"""What the tests about leaving run inside a kernel: stories, and the fingerprint of the kernel."""

STORIES = """
import asyncio, logging, sys, threading, time, warnings
from pathlib import Path
import repl_pair
from repl_pair import check
from IPython.display import HTML, display

@repl_pair.story("busy", thread_safe=True)
def busy(how: str = "", mark: str = ""):
    print("printed")
    logging.getLogger("shop").warning("logged")
    display(HTML("<b>shown</b>"))
    if mark: Path(mark).touch()
    if how == "sleeps": time.sleep(60)
    while how == "loops": pass
    if how == "fails": raise ValueError("no")
    return "done"
repl_pair.variant("busy/It", play=[check.path_equals("result", "done")])

@repl_pair.story("waits", thread_safe=True)
async def waits(seconds: float = 0.0, mark: str = ""):
    warnings.warn("warned")
    if mark: Path(mark).touch()
    await asyncio.sleep(seconds)
    return "done"
repl_pair.variant("waits/It")

@repl_pair.story("draws")
def draws():
    from matplotlib import pyplot
    pyplot.figure()
    return pyplot.plot([1, 2])
repl_pair.variant("draws/It")

@repl_pair.story("clings", thread_safe=True)
def clings(mark: str = ""):
    Path(mark).touch()
    ended = False
    while not ended:
        try:
            while not Path(mark + ".go").exists(): time.sleep(0.01)
            print("late")
            Path(mark + ".late").touch()
            ended = True
        except BaseException: pass
repl_pair.variant("clings/It", args={"mark": ""})

@repl_pair.story("takes_out", thread_safe=True)
def takes_out():
    get_ipython().run_line_magic("pair", "detach")
    return "taken out"
repl_pair.variant("takes_out/It")
"""

# An ipykernel closes the files of threads that wrote and ended each ten seconds: here at once.
COLLECT = r"""
_AT_WORK = ("Host", "Lanes", "Job", "Timers", "JobQueue", "Section", "Call")

def _collect():
    import asyncio, gc
    gc.collect()
    iopub = get_ipython().kernel.iopub_thread
    collecting = iopub._event_pipe_gc()
    asyncio.run_coroutine_threadsafe(collecting, iopub.io_loop.asyncio_loop).result(60)
"""

FINGERPRINT = (
    COLLECT
    + r"""
def _fingerprint():
    import asyncio, atexit, builtins, gc, json, logging, os, re, signal, subprocess, sys
    import threading, warnings
    _collect()
    shell = get_ipython()
    kernel = shell.kernel
    # IPython's own, which come and go with the cells.
    passing = re.compile(r"_+|_i+|_i?\d+|__warningregistry__")
    def functions(owner):
        return {name: id(value) for name, value in vars(owner).items() if callable(value)}
    def words(things):
        return [str(thing) for thing in things]
    def tasks(loop):
        return sorted(task.get_coro().__qualname__ for task in asyncio.all_tasks(loop))
    def files():
        for number in os.listdir("/proc/self/fd"):
            try:
                yield re.sub(r"\[\d+\]", "", os.readlink(f"/proc/self/fd/{number}"))
            except OSError:
                continue  # the one that lists the others
    loggers = {"root": logging.root, **logging.root.manager.loggerDict}
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return json.dumps({
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "builtins": functions(builtins),
        "control handlers": {n: str(fn) for n, fn in kernel.control_handlers.items()},
        "shell handlers": {n: str(fn) for n, fn in kernel.shell_handlers.items()},
        "features": kernel.kernel_info["supported_features"],
        "hooks": words((
            sys.excepthook, sys.displayhook, sys.unraisablehook, sys.breakpointhook,
            threading.excepthook, sys.gettrace(), sys.getprofile(), threading.gettrace(),
            threading.getprofile(), *gc.callbacks,
        )),
        "streams": [
            [id(stream), sorted(vars(stream)), functions(stream), functions(type(stream))]
            for stream in (sys.stdout, sys.stderr)
        ],
        "loggers": {
            name: [logger.level, words(logger.handlers), words(logger.filters)]
            for name, logger in loggers.items()
            if isinstance(logger, logging.Logger) and not name.startswith("repl_pair.")
        },
        "warnings": words(warnings.filters),
        "signals": {n.name: str(signal.getsignal(n)) for n in signal.Signals},
        "sigint between cells": str(kernel.saved_sigint_handler),
        "events": {name: words(hooks) for name, hooks in shell.events.callbacks.items()},
        "transformers": words(
            shell.input_transformers_cleanup + shell.input_transformers_post
            + shell.ast_transformers
        ),
        "magics": {kind: sorted(found) for kind, found in shell.magics_manager.magics.items()},
        "names": sorted(n for n in shell.user_ns if not passing.fullmatch(n)),
        "instances": {
            str(thing): [sorted(vars(thing)), functions(thing), functions(type(thing))]
            for thing in (
                shell, shell.events, shell.display_pub, shell.displayhook, kernel, kernel.session,
            )
        },
        "patched": {
            str(owner): functions(owner)
            for owner in (
                asyncio.BaseEventLoop, logging, logging.Logger, logging.Handler, os, signal,
                subprocess, subprocess.Popen, threading, threading.Thread, warnings,
                *([] if helpers is None else [helpers.Gcf, sys.modules["matplotlib.pyplot"]]),
            )
        },
        "figures": [] if helpers is None else sorted(helpers.Gcf.figs),
        "environ": dict(os.environ),
        "cwd": os.getcwd(),
        "files": sorted(files()),
        "iopub pipes": sorted(thread.name for thread in kernel.iopub_thread._event_pipes),
        "imports": words(sys.meta_path + sys.path_hooks + sys.path),
        "atexit": atexit._ncallbacks(),
        "tasks": [
            tasks(kernel.io_loop.asyncio_loop), tasks(kernel.control_thread.io_loop.asyncio_loop)
        ],
        "intervals": [sys.getswitchinterval(), sys.getrecursionlimit(), gc.get_threshold()],
        "alive": sorted(
            type(thing).__name__ for thing in gc.get_objects()
            if str(type(thing).__module__).startswith("repl_pair.runtime.")
            and type(thing).__name__.endswith(_AT_WORK)
        ),
    })
"""
)

COUNTS = (
    COLLECT
    + r"""
def _counts():
    import gc, json, os, threading
    from collections import Counter
    _collect()
    kinds = Counter(
        type(thing).__name__ for thing in gc.get_objects()
        if str(type(thing).__module__).startswith("repl_pair.")
    )
    # Kept up to a number each, across every attach: what changed, and was called, lately.
    for kept in ("Change", "Activity"):
        kinds.pop(kept, None)
    return json.dumps({
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "files": len(os.listdir("/proc/self/fd")),
        "objects": kinds,
        "alive": [name for name in kinds if name.endswith(_AT_WORK)],
    })

def _resident_mb():
    import os
    with open("/proc/self/statm") as file:
        return str(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
"""
)
