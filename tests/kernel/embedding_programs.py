"""Programs that embed a kernel, as text, for test_embed.py."""

STORIES = """
import asyncio, sys, time
import repl_pair

@repl_pair.story("shop.total")
def total(prices: list[float]) -> dict[str, float]:
    print("printed in the run")
    return {"total": sum(prices)}

repl_pair.variant("shop.total/Three", args={"prices": [1.5, 2.0]})
begun = []

@repl_pair.story("shop.spins")
def spins() -> None:
    begun.append(1)
    while True: pass

repl_pair.variant("shop.spins/Now")

@repl_pair.story("shop.waits")
async def waits() -> None:
    await asyncio.sleep(600)

repl_pair.variant("shop.waits/Now")
counter = 41
"""

# Each row is an expression: what it gives before `embed` it gives while a kernel is embedded, once
# an agent has run a variant there and left, and after `close`.
LEFT_ALONE = {
    "the streams": "[(s, id(s), s.write) for s in (sys.stdin, sys.stdout, sys.stderr)]",
    "the first streams": "[(s, id(s), s.write) for s in (sys.__stdout__, sys.__stderr__)]",
    "the display hook": "sys.displayhook",
    "the hooks of exceptions": "sys.excepthook, threading.excepthook, sys.unraisablehook",
    "the handlers of signals": "{n: signal.getsignal(n) for n in signal.valid_signals()}",
    "__main__": "sys.modules['__main__']",
    "the prompts": "[getattr(sys, name, None) for name in ('ps1', 'ps2', 'ps3')]",
    "the names of builtins": "sorted(vars(builtins))",
    "what asks and ends": "input, getpass.getpass, exit, quit, os._exit",
    "its own names": "sorted(globals())",
    "the environment": "dict(os.environ)",
    "the folder": "os.getcwd()",
    "where modules are found": "sys.path, list(map(id, sys.meta_path)), sys.path_hooks",
    "filters of warnings": "warnings.filters, warnings.showwarning",
    "warnings that were shown": "sorted(map(str, __warningregistry__))",
    "logging": "logging.root.level, logging.root.handlers, logging.Logger.callHandlers",
    "a logger of a library": "logging.getLogger('tornado').handlers",
    "a log file": "log.stream.closed, logging._handlers.get('theirs') is log",
    "threads of theirs": "threading.Thread.start, threading.Thread.run",
    "pdb": "pdb.set_trace, pdb.Pdb, sys.breakpointhook",
    "faulthandler": "faulthandler.enable, faulthandler.is_enabled()",
    "comms of widgets": "comm.create_comm, comm.get_comm_manager",
    "tracing": "sys.gettrace(), sys.getprofile(), sys.getswitchinterval()",
    "loops": "asyncio.get_event_loop_policy(), asyncio.new_event_loop",
    "debuggers": "'debugpy' in sys.modules, 'pydevd' in sys.modules",
    "IPython's own shell": "IPython.get_ipython()",
    "the home folder": "os.listdir(os.environ['HOME'])",
    "the garbage collector": "gc.isenabled(), gc.get_threshold(), gc.callbacks",
    "child processes": "child.poll()",
}
# Only closing gives these back.
GIVEN_BACK = {
    "threads": "sorted(thread.name for thread in threading.enumerate())",
    "sockets and files": "sorted(os.listdir('/proc/self/fd'))",
    "the runtime dir": "os.listdir(os.environ['JUPYTER_RUNTIME_DIR'])",
    "the memory of the kernel": "gc.collect() and 0, len(known)",
}
LOOKS = """
import asyncio, builtins, comm, faulthandler, gc, getpass, json, logging, os, pdb, signal
import subprocess, threading, warnings, weakref
import IPython
from repl_pair.runtime.ipython import kernel_shell
known = weakref.WeakSet()
log = logging.FileHandler("theirs.log", "w")
log.name = "theirs"
logging.root.addHandler(log)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
def look():
    return {row: repr(eval(text)) for row, text in json.loads(sys.argv[1]).items()}
class Mine(Warning): pass
def show(value): print("shown", value)
sys.displayhook = show
warnings.simplefilter("once", Mine)
warnings.warn("shown once", Mine)
opened, until, looks = None, 0.0, []
looks.append(look())
opened = repl_pair.embed()
known.add(kernel_shell().kernel)
looks.append(look())
print("open", flush=True)
input()
looks.append(look())
opened.close()
opened = None
# The thread of timers ends when it has been idle for half a second.
until = time.monotonic() + 20
while "timers" in str(threading.enumerate()) and time.monotonic() < until:
    time.sleep(0.01)
looks.append(look())
print(json.dumps(looks), flush=True)
logging.warning("after all")
log.flush()
child.communicate(b"\\n")
raise SystemExit(7 + child.returncode)
"""

# Each is run with a kernel and without: all that it prints and its exit code are the same.
ENDS = {
    "ends": "print('out'); print('err', file=sys.stderr)",
    "raises": """
def inner():
    1 / 0
inner()
""",
    "exits": "raise SystemExit(3)",
    "exits with a text": "sys.exit('no')",
    "has handlers of its own at exit": """
import atexit
atexit.register(lambda: print("at exit", counter))
""",
    "raises in a thread": """
import threading
thread = threading.Thread(target=lambda: {}["x"], name="t")
thread.start()
thread.join()
""",
    "warns": """
import warnings
warnings.warn("careful")
warnings.warn_explicit("odd", UserWarning, "f", 1)
""",
    "logs without handlers": """
import logging
logging.warning("w")
logging.getLogger("tornado").error("e")
""",
    "asks": "print(input('name? '))",
    "is interrupted": """
import signal
signal.raise_signal(signal.SIGINT)
""",
    "runs a loop": """
async def main():
    await asyncio.sleep(0.01)
    return 5
print(asyncio.run(main()))
""",
    "forks": """
import os
pid = os.fork()
if not pid:
    sys.exit(4)
print(os.waitpid(pid, 0)[1])
""",
    "shows an object": """
from IPython.display import display
display({"a": 1})
sys.displayhook("b")
""",
    "starts processes": """
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        print(pool.submit(pow, 2, 5).result())
""",
}
REFUSED = """
try:
    repl_pair.embed({})
except repl_pair.ReplPairError as error:
    assert {!r} in f"{{error.code}}: {{error}}", error
else:
    raise AssertionError
"""

# Each asserts by itself.
EMBEDDING = {
    "twice gives the same one": "assert repl_pair.embed(name='b') is repl_pair.embed({})",
    "again after close": """
one = repl_pair.embed()
one.close()
one.close()
two = repl_pair.embed()
assert two is not one and two.file.exists()
""",
    "a namespace of its own": """
from repl_pair.runtime.secrets.learning import namespace
space = {"only": 5}
repl_pair.embed(space)
assert namespace() == {"only": 5}, namespace()
""",
    "a namespace that is none": REFUSED.format("[]", "bad_arguments: namespace is a dict"),
    "a name that is none": REFUSED.format("name='a\\nb'", "bad_arguments: name is printable"),
    "without ipykernel": f"""
sys.modules["ipykernel"] = None
{REFUSED.format("", "unsupported_kernel: embed needs ipykernel")}
{REFUSED.format("", "-m pip install ipykernel")}
del sys.modules["ipykernel"]
assert repl_pair.embed().file.exists()
""",
    "from threads at once": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    opened = [pool.submit(repl_pair.embed) for _ in range(8)]
assert len({one.result() for one in opened}) == 1
""",
    "a fork leaves it open": """
import os
one = repl_pair.embed()
pid = os.fork()
if not pid:
    one.close()
    os._exit(0)
os.waitpid(pid, 0)
assert one.file.exists()
""",
    "what is registered is of the program": """
repl_pair.embed()
repl_pair.variant("shop.total/Two", args={"prices": []})
entry = repl_pair.registry.get("variant", "shop.total/Two")
line = sys._getframe().f_lineno - 2
assert (entry.origin.key, entry.origin.line) == ("module:__main__", line), entry.origin
""",
    "the person watches": """
repl_pair.embed()
ran = []
repl_pair.watch("shop.total/Three", ran.append)
repl_pair.variant("shop.total/Three", args={"prices": [7.0]})
until = time.monotonic() + 30
while not ran and time.monotonic() < until:
    time.sleep(0.01)
assert ran[0].status == "pass", ran
""",
    "cells of a prompt hold nothing of the kernel's": """
from IPython.core.interactiveshell import InteractiveShell
from repl_pair.runtime.registry.cells import CELLS
prompt, ended = InteractiveShell.instance(), []
repl_pair.embed()
undo = CELLS.track()
CELLS.at_end(lambda: ended.append(CELLS.is_busy()))
prompt.push({"CELLS": CELLS})
prompt.run_cell("seen = CELLS.current")
assert (prompt.user_ns["seen"], ended) == (None, [False])
undo()
prompt.run_cell("0")
assert len(ended) == 1, ended
""",
    "a shell of IPython that begins later": """
import IPython
from IPython.terminal.embed import InteractiveShellEmbed
from repl_pair.runtime.ipython import known_shells, kernel_shell
one = repl_pair.embed()
later = InteractiveShellEmbed.instance()
assert IPython.get_ipython() is later is known_shells()[0] is not kernel_shell()
one.close()
assert IPython.get_ipython() is later is kernel_shell()
""",
}

APP = """
import repl_pair

served, held = 0, {}

@repl_pair.story("shop.price")
def price(amount: float) -> float:
    print("priced")
    return round(amount * 1.19, 2)

repl_pair.variant("shop.price/Ten", args={"amount": 10.0})

async def app(scope, receive, send):
    global served
    if scope["type"] == "lifespan":
        await receive()
        held["kernel"] = repl_pair.embed()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        held["kernel"].close()
        await send({"type": "lifespan.shutdown.complete"})
        return
    served += 1
    print("request", served, flush=True)
    body = str(price(len(scope["path"]))).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""
"""An app for uvicorn; it embeds where it starts and closes where it ends."""
