"""`repl_pair.embed` in real programs: an agent beside them, and nothing of theirs is changed."""

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pexpect
import pytest
from ports import free_ports

from repl_pair.bridge.kernels.discover import find_kernels
from repl_pair.bridge.kernels.target import resolve
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

from .conftest import BOUND_S, ROOT, wait_until

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=("read", "inspect", "run"))
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


class Program:
    """A program that was started, spoken to in lines."""

    def __init__(self, folder, code, *args, name="program.py"):
        self.file = folder / name
        self.file.write_text(code)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, self.file, *args],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            cwd=folder,
            env=environment(folder),
        )

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=BOUND_S)[1]
        return line.rstrip("\n")

    def go_on(self):
        """Let it go on to the next line of its stdin, and return what it prints first then."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """Give its exit code, and the rest of what it printed to both streams."""
        out, err = self.process.communicate(timeout=BOUND_S)
        return self.process.returncode, out, err


def environment(folder):
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    home = folder / "home"
    home.mkdir(exist_ok=True)
    names = {
        name: os.environ[name]
        for name in ("PATH", "JUPYTER_RUNTIME_DIR", "LANG")
        if name in os.environ
    }
    return {**names, "HOME": str(home), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def start(runtime_dir, tmp_path):
    """Starts programs: `start(code, *args)`."""
    started = []

    def start_program(code, *args):
        started.append(Program(tmp_path, code, *args))
        return started[-1]

    yield start_program
    for program in started:
        program.process.kill()
        program.process.communicate()


async def find(target):
    return resolve(str(target), await asyncio.to_thread(find_kernels))


@asynccontextmanager
async def agent_at(target):
    """Attach an agent; gives what calls an op and returns its result."""
    link = KernelLink(await find(target))

    async def call(op, /, **args):
        reply = await link.request(op, args, view=AGENT, timeout_s=BOUND_S)
        assert reply["ok"], reply
        return reply["result"]

    try:
        yield call
    finally:
        await link.close()


async def run_three(call):
    return await call("run_variant", variant_id="shop.total/Three", detail="full")


# Each row is an expression: what it gives before `embed` it gives while a kernel is embedded, once
# an agent has run a variant there and left, and after `close`.
LEFT_ALONE = {
    "the streams": "[(id(s), s.write) for s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__)]",
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
    "the kernel itself": "kernels(), gc.collect() and 0",
}
LOOKS = """
import asyncio, builtins, comm, faulthandler, gc, getpass, json, logging, os, pdb, signal
import subprocess, threading, warnings, weakref
import IPython
known = weakref.WeakSet()
log = logging.FileHandler("theirs.log", "w")
log.name = "theirs"
logging.root.addHandler(log)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
def kernels():
    gc.collect()
    return len(known)
def look():
    return {row: repr(eval(text)) for row, text in json.loads(sys.argv[1]).items()}
class Mine(Warning): pass
warnings.simplefilter("once", Mine)
warnings.warn("shown once", Mine)
from repl_pair.runtime.ipython import kernel_shell
opened, looks = None, []
looks.append(look())
opened = repl_pair.embed()
known.add(kernel_shell().kernel)
looks.append(look())
print("open", flush=True)
input()
looks.append(look())
opened.close()
opened = None
looks.append(look())
print(json.dumps(looks), flush=True)
logging.warning("after all")
log.flush()
child.communicate(b"\\n")
raise SystemExit(7 + child.returncode)
"""


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    """What each row gives before, and then `open`, `after an agent` and `closed`."""
    folder = tmp_path_factory.mktemp("looks")
    runtime = folder / "runtime"
    runtime.mkdir()

    async def visit(pid):
        async with agent_at(pid) as call:
            assert (await run_three(call))["status"] == "pass"

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
        program = Program(folder, STORIES + LOOKS, json.dumps(LEFT_ALONE | GIVEN_BACK))
        assert program.read() == "open"
        asyncio.run(visit(program.process.pid))
        looks = json.loads(program.go_on())
    code, out, err = program.end()
    assert (code, out, err.count("Mine: shown once")) == (7, "", 1), err
    assert (folder / "theirs.log").read_text() == "after all\n"
    return dict(zip(("before", "open", "after an agent", "closed"), looks, strict=True))


@pytest.mark.parametrize("row", LEFT_ALONE)
def test_it_leaves_alone(looks, row):
    before = looks["before"][row]
    assert {when: look[row] for when, look in looks.items()} == dict.fromkeys(looks, before)


@pytest.mark.parametrize("row", GIVEN_BACK)
def test_closing_gives_back(looks, row):
    assert looks["open"][row] != looks["before"][row]
    assert looks["closed"][row] == looks["before"][row]


# Each is run twice: what it prints and its exit code are the same with a kernel as without.
ENDS = {
    "ends": "print('out'); print('err', file=sys.stderr)",
    "raises": "def inner():\n    1 / 0\ninner()",
    "exits": "raise SystemExit(3)",
    "exits with a text": "sys.exit('no')",
    "has handlers of its own at exit": "import atexit; atexit.register(lambda: print('at exit', counter))",
    "raises in a thread": "import threading\nt = threading.Thread(target=lambda: {}['x'], name='t')\nt.start(); t.join()",
    "warns": "import warnings; warnings.warn('careful'); warnings.warn_explicit('odd', UserWarning, 'f', 1)",
    "logs without handlers": "import logging; logging.warning('w'); logging.getLogger('tornado').error('e')",
    "asks": "print(input('name? '))",
    "is interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "runs a loop": "async def main():\n    await asyncio.sleep(0.01)\n    return 5\nprint(asyncio.run(main()))",
    "forks": "import os\npid = os.fork()\nif not pid: sys.exit(4)\nprint(os.waitpid(pid, 0)[1])",
    "shows an object": "from IPython.display import display; display({'a': 1}); sys.displayhook('b')",
    "starts processes": "from concurrent.futures import ProcessPoolExecutor as P\nif __name__ == '__main__':\n    with P(1) as pool: print(pool.submit(pow, 2, 5).result())",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_a_program_ends_as_it_does_without(start, runtime_dir, code):
    embeds = "if sys.argv[1:] and __name__ == '__main__': repl_pair.embed()"

    def run(*args):
        program = start(f"{STORIES}\n{embeds}\n{code}\n", *args)
        program.process.stdin.write("Ann\n")
        return program.end()

    assert run("embed") == run()
    assert os.listdir(runtime_dir) == []


EMBEDS = f"{STORIES}\nprint(repl_pair.embed(name='till').file, flush=True)\n"
TICKS = """
ticks = 0
while ticks < 100_000 and not stop():
    ticks += 1
    print("tick", ticks, flush=ticks == 1)
    time.sleep(0.001)
print("ended", flush=True)
"""


async def test_runs_keep_their_output_and_the_program_its_own(start):
    program = start(
        "import threading\nstopped = threading.Event()\nstop = stopped.is_set\n"
        f"threading.Thread(target=lambda: (input(), stopped.set()), daemon=True).start()\n{EMBEDS}{TICKS}"
    )
    program.read()
    assert program.read() == "tick 1"
    async with agent_at(program.process.pid) as call:
        records = [await run_three(call) for _ in range(20)]
    program.process.stdin.write("\n")
    code, out, err = program.end()
    assert {record["stdout"] for record in records} == {"printed in the run\n"}
    *ticks, last = out.splitlines()
    assert ticks == [f"tick {n}" for n in range(2, len(ticks) + 2)]
    assert (code, last, err) == (0, "ended", "")


STOPPED = {
    "shop.spins/Now": "not done within 0.4 s",
    "shop.waits/Now": "not done within 0.4 s",
}


@pytest.mark.parametrize(("variant", "reason"), STOPPED.items())
async def test_a_run_is_stopped_at_its_deadline_and_the_program_runs_on(start, variant, reason):
    program = start(f"{EMBEDS}\ninput(); print('on', flush=True); input()")
    program.read()
    async with agent_at("till") as call:
        record = await call("run_variant", variant_id=variant, timeout_s=0.4, detail="full")
        assert (record["status"], record["reason"]) == ("error", reason)
        assert (await run_three(call))["status"] == "pass"
        assert program.go_on() == "on"
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")


async def test_a_run_is_cancelled_by_its_caller(start):
    program = start(f"{EMBEDS}\ninput()")
    program.read()
    async with agent_at("till") as call:
        running = asyncio.create_task(call("run_variant", variant_id="shop.spins/Now"))
        async with asyncio.timeout(BOUND_S):
            while not (await call("get_value", path="begun"))["value"]:
                await asyncio.sleep(0.01)
        running.cancel()
        assert (await run_three(call))["status"] == "pass"
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")


@pytest.fixture
def front_end(start, sit_at):
    """A program with a kernel, and a person at a front end of that."""
    program = start(f"_ = 'theirs'\n{EMBEDS}\nprint(input(), sorted(globals()), _)")
    program.person = sit_at(SimpleNamespace(path=program.read()))
    return program


CELLS = {
    "counter + 1": "42",
    "import asyncio; await asyncio.sleep(0.01); counter": "41",
    "%who_ls int": "['counter']",
    "from IPython.display import display; get_ipython().kernel is not None": "True",
    "import sys; sys.modules[__name__].counter": "41",
}


@pytest.mark.parametrize(("code", "value"), CELLS.items())
def test_a_cell_of_a_front_end_runs_in_the_program(front_end, code, value):
    ran = front_end.person.run(code)
    assert ran.value == value
    front_end.process.stdin.write("line\n")
    code, out, err = front_end.end()
    assert (code, out.startswith("line "), err) == (0, True, "")
    assert "get_ipython" not in out
    assert out.endswith("] theirs\n")


def send_on_control(person, kind, content):
    """Send a message on control and return its reply."""
    with person._file.connect_control(identity=person._session.bsession) as socket:
        person._session.send(socket, kind, content)
        assert socket.poll(BOUND_S * 1000), f"no reply to {kind}"
        return person._session.recv(socket)[1]["content"]


@pytest.mark.parametrize("cell", ["", "while True: pass", "import time; time.sleep(1)"])
def test_an_interrupt_of_the_kernel_is_none_of_the_program(front_end, cell):
    person = front_end.person
    if cell:
        person.start(cell)
    assert send_on_control(person, "interrupt_request", {})["status"] == "ok"
    front_end.process.stdin.write("line\n")
    code, out, err = front_end.end()
    assert (code, out[:5], err) == (0, "line ", "")


@pytest.mark.parametrize("restart", [False, True])
def test_a_shutdown_of_the_kernel_is_none_of_the_program(start, sit_at, runtime_dir, restart):
    program = start(
        "import subprocess\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n{EMBEDS}"
        "input(); print(child.poll(), repl_pair.embed(name='again'), flush=True); input()\n"
        "child.communicate(b'\\n')".replace("import subprocess", "import subprocess, sys", 1)
    )
    person = sit_at(SimpleNamespace(path=program.read()))
    assert send_on_control(person, "shutdown_request", {"restart": restart})["status"] == "ok"
    wait_until(lambda: os.listdir(runtime_dir) == [], what="the removal of the file")
    assert re.fullmatch("None <repl_pair kernel 'again' of process [0-9]+>", program.go_on())
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")
    assert os.listdir(runtime_dir) == []


PROMPTS = {
    "python": (["-q"], ">>> ", "'theirs'", "__main__"),
    "ipython": (
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit"],
        r"In \[[0-9]+\]: ",
        "Out.*'theirs'",
        r"In\[[0-9]+\]",
    ),
}


@pytest.mark.parametrize(("arguments", "prompt", "shown", "origin"), PROMPTS.values(), ids=PROMPTS)
async def test_a_prompt_stays_as_it_was(runtime_dir, tmp_path, arguments, prompt, shown, origin):
    (tmp_path / "shop.py").write_text(STORIES)
    env = environment(tmp_path) | {"TERM": "dumb", "PYTHON_BASIC_REPL": "1"}
    terminal = pexpect.spawn(
        sys.executable,
        arguments,
        encoding="utf-8",
        timeout=BOUND_S,
        env=env,
        cwd=tmp_path,
        echo=False,
    )

    def type_in(line, answer=""):
        terminal.sendline(line)
        terminal.expect(f"{answer}.*{prompt}")

    try:
        terminal.expect(prompt)
        type_in("import sys, repl_pair")
        type_in("seen = sys.ps1, sys.displayhook, sys.excepthook, sys.modules['__main__'], exit")
        type_in("kernel = repl_pair.embed(name='prompt')")
        type_in("repl_pair.story('desk.echo')(lambda text='': text)", "lambda")
        type_in("repl_pair.variant('desk.echo/Hi', args={'text': 'hi'})", "desk.echo/Hi")
        type_in("repl_pair.registry.get('story', 'desk.echo').origin.label", origin)
        type_in("'theirs'", shown)
        async with agent_at("prompt") as call:
            assert (await call("run_variant", variant_id="desk.echo/Hi"))["status"] == "pass"
            assert (await call("get_value", path="seen[0]"))["value"] in (">>> ", "In : ")
            type_in("_", shown)
        type_in(
            "print(seen == (sys.ps1, sys.displayhook, sys.excepthook, sys.modules['__main__'], exit))",
            "True",
        )
        type_in("1 / 0", "ZeroDivisionError.*by zero")
        type_in("kernel.close()")
        type_in("print(getattr(sys, 'ps2', None), [*vars()].count('get_ipython'), 'In' in vars())")
        terminal.sendline("exit()")
        terminal.expect(pexpect.EOF)
        terminal.wait()
        assert terminal.exitstatus == 0
    finally:
        terminal.close(force=True)
