"""`repl_pair.embed` in real programs: an agent beside them, and nothing in them is changed."""

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
from pathlib import Path
from types import SimpleNamespace

import pexpect
import pytest
from bounds import BOUND_S, PATIENT
from ports import free_ports
from waiting import wait_until

from repl_pair.bridge.kernels.discovery import find_kernels
from repl_pair.bridge.kernels.target import resolve
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

from .conftest import ROOT
from .embedding_programs import APP, EMBEDDING, ENDS, GIVEN_BACK, LEFT_ALONE, LOOKS, STORIES

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=("read", "inspect", "run"))


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
import threading
ticks, stopped = 0, threading.Event()
threading.Thread(target=lambda: (input(), stopped.set()), daemon=True).start()
while ticks < 100_000 and not stopped.is_set():
    ticks += 1
    print("tick", ticks, flush=ticks == 1)
    time.sleep(0.001)
print("ended", flush=True)
"""


async def test_runs_keep_their_output_and_the_program_its_own(start):
    program = start(f"{EMBEDS}{TICKS}")
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


NO_TURNS = """
print("on", flush=True)
sys.setswitchinterval(0.1)  # as in a program that is back at the interpreter lock before all others
until = time.monotonic() + 60
while sys.getswitchinterval() > 0.001 and time.monotonic() < until: pass
print(sys.getswitchinterval() < 0.001, flush=True)
while sys.getswitchinterval() < 0.001 and time.monotonic() < until: pass
print(round(sys.getswitchinterval(), 6), flush=True)
input()  # with its end the kernel would end, and the run in it
"""


async def test_a_program_that_leaves_other_threads_no_turn_takes_short_ones_for_agents(start):
    program = start(f"{EMBEDS}{NO_TURNS}")
    program.read()
    assert program.read() == "on"
    async with agent_at("till") as call:
        assert (await run_three(call))["status"] == "pass"
        assert program.read() == "True"
        assert program.read() == "0.1"
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")


STOPPED = {
    "shop.spins/Now": "not done within 0.4 s",
    "shop.waits/Now": "not done within 0.4 s",
}


@pytest.mark.parametrize(("variant", "reason"), STOPPED.items())
async def test_a_run_is_stopped_at_its_deadline_and_the_program_runs_on(start, variant, reason):
    program = start(f"{EMBEDS}\n{PATIENT}input(); print('on', flush=True); input()")
    program.read()
    async with agent_at("till") as call:
        record = await call("run_variant", variant_id=variant, timeout_s=0.4, detail="full")
        assert (record["status"], record["reason"]) == ("error", reason)
        assert (await run_three(call))["status"] == "pass"
        assert program.go_on() == "on"
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")


@asynccontextmanager
async def spinning(call):
    """Run a variant that loops; gives the task of the call once it has begun."""
    running = asyncio.create_task(call("run_variant", variant_id="shop.spins/Now"))
    async with asyncio.timeout(BOUND_S):
        while not (await call("get_value", path="begun"))["value"]:
            await asyncio.sleep(0.01)
    yield running
    assert (await run_three(call))["status"] == "pass"


async def test_a_run_is_cancelled_by_its_caller(start):
    program = start(f"{EMBEDS}\ninput()")
    program.read()
    async with agent_at("till") as call, spinning(call) as running:
        running.cancel()
    program.process.stdin.write("\n")
    assert program.end() == (0, "", "")


async def test_a_run_is_stopped_by_the_interrupt_of_a_front_end(start, sit_at):
    program = start(f"{EMBEDS}\ninput()")
    person = sit_at(SimpleNamespace(path=program.read()))
    async with agent_at("till") as call, spinning(call) as running:
        await asyncio.to_thread(send_on_control, person, "interrupt_request", {})
        record = await running
        assert (record["status"], record["reason"]) == ("cannot_run", "interrupted by the person")
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
    "import builtins; [hasattr(builtins, name) for name in ('get_ipython', 'exit')]": (
        "[False, True]"
    ),
    "import IPython; IPython.get_ipython() is get_ipython()": "True",
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


def test_a_cell_that_runs_is_no_matter_of_the_threads_of_the_program(front_end):
    shows = "other = threading.Thread(target=sys.displayhook, args=('theirs',))"
    code = f"import sys, threading\n{shows}\nother.start(); other.join()\n'own'"
    assert front_end.person.run(code).value == "'own'"
    front_end.process.stdin.write("line\n")
    code, out, err = front_end.end()
    assert (code, out.splitlines()[0], err) == (0, "'theirs'", "")


def send_on_control(person, kind, content):
    """Send a message on control and return its reply."""
    with person._file.connect_control(identity=person._session.bsession) as socket:
        person._session.send(socket, kind, content)
        assert socket.poll(BOUND_S * 1000), f"no reply to {kind}"
        return person._session.recv(socket)[1]["content"]


@pytest.mark.parametrize("cell", ["", "while True: pass", "import time; time.sleep(1)"])
def test_an_interrupt_of_the_kernel_does_not_affect_the_program(front_end, cell):
    person = front_end.person
    if cell:
        person.start(cell)
    assert send_on_control(person, "interrupt_request", {})["status"] == "ok"
    front_end.process.stdin.write("line\n")
    code, out, err = front_end.end()
    assert (code, out[:5], err) == (0, "line ", "")


CHILD = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
{EMBEDS}
input()
print(child.poll(), repl_pair.embed(name="again"), flush=True)
input()
child.communicate(b"\\n")
"""


@pytest.mark.parametrize("restart", [False, True])
def test_a_shutdown_of_the_kernel_does_not_affect_the_program(start, sit_at, runtime_dir, restart):
    program = start(CHILD)
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
        now = "sys.ps1, sys.displayhook, sys.excepthook, sys.modules['__main__'], exit"
        type_in(f"seen = {now}")
        type_in("kernel = repl_pair.embed(name='prompt')")
        type_in("repl_pair.story('desk.echo')(lambda text='': text)", "lambda")
        type_in("repl_pair.variant('desk.echo/Hi', args={'text': 'hi'})", "desk.echo/Hi")
        type_in("repl_pair.registry.get('story', 'desk.echo').origin.label", origin)
        type_in("'theirs'", shown)
        async with agent_at("prompt") as call:
            assert (await call("run_variant", variant_id="desk.echo/Hi"))["status"] == "pass"
            assert (await call("get_value", path="seen[0]"))["value"] in (">>> ", "In : ")
            type_in("_", shown)
        if "IPython" in arguments:
            type_in("%load_ext repl_pair")
            type_in("%pair attach", "--kernel .*kernel-embed-[0-9]+.json")
            type_in("%pair detach", "Detached")
        type_in(f"print(seen == ({now}))", "True")
        type_in("1 / 0", "ZeroDivisionError.*by zero")
        type_in("kernel.close()")
        terminal.sendline("exit()")
        terminal.expect(pexpect.EOF)
        terminal.wait()
        assert terminal.exitstatus == 0
    finally:
        terminal.close(force=True)


REQUESTS = 200


def ask_many(port, answers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_S)
    for n in range(REQUESTS):
        connection.request("GET", "/" + "x" * (n % 9))
        response = connection.getresponse()
        answers.append((response.status, float(response.read()), round((n % 9 + 1) * 1.19, 2)))
    connection.close()


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
async def test_an_app_serves_under_load_with_an_agent_beside_it(runtime_dir, tmp_path, signal_):
    (tmp_path / "shop.py").write_text(APP)
    [port] = free_ports(1)
    command = [sys.executable, "-m", "uvicorn", "shop:app", "--port", str(port), "--no-access-log"]
    log, printed = tmp_path / "log", tmp_path / "printed"
    with log.open("wb") as err, printed.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, cwd=tmp_path, env=environment(tmp_path)
        )
    try:
        wait_until(lambda: b"running on" in log.read_bytes(), what="the app")
        answers = []
        clients = [threading.Thread(target=ask_many, args=(port, answers)) for _ in range(3)]
        async with agent_at("shop") as call:
            for client in clients:
                client.start()
            rounds = 0
            while any(client.is_alive() for client in clients) or not rounds:
                record = await call("run_variant", variant_id="shop.price/Ten", detail="full")
                assert (record["status"], record["stdout"]) == ("pass", "priced\n")
                assert (await call("get_value", path="served"))["value"] <= 3 * REQUESTS
                rounds += 1
            assert (await call("get_value", path="served"))["value"] == 3 * REQUESTS
        process.send_signal(signal_)
        process.wait(BOUND_S)
    finally:
        process.kill()
        process.wait()
        for client in clients:
            client.join()
    assert len(answers) == 3 * REQUESTS
    assert {(status, value == wanted) for status, value, wanted in answers} == {(200, True)}
    lines = printed.read_text().splitlines()
    assert (lines.count("priced"), len(lines)) == (3 * REQUESTS, 6 * REQUESTS)
    assert process.returncode == (-signal.SIGTERM if signal_ == signal.SIGTERM else 0)
    assert "Traceback" not in log.read_text()
    assert "Finished server process" in log.read_text()
    assert os.listdir(runtime_dir) == []


async def test_a_kernel_is_listed_with_its_name_and_what_it_is(start):
    program = start(f"{EMBEDS}\ninput()")
    file = program.read()
    listed = await find("till")
    assert listed == await find(program.process.pid) == await find(file) == await find(listed.id)
    assert (listed.name, listed.pid, listed.front_end) == ("till", program.process.pid, "embedded")
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert json.loads(Path(file).read_text())["key"]
    program.process.kill()
    program.end()
    gone = next(kernel for kernel in find_kernels() if kernel.path == file)
    assert (gone.alive, gone.pid) == (False, None)


async def test_a_process_that_has_the_pid_of_a_program_that_died_is_not_taken_for_it(start):
    program = start(f"{EMBEDS}\ninput()")
    file = program.read()
    os.utime(file, (0, 0))
    assert [kernel.pid for kernel in find_kernels() if kernel.path == file] == [None]


@pytest.mark.parametrize("code", EMBEDDING.values(), ids=EMBEDDING)
def test_embedding(start, runtime_dir, code):
    program = start(f"{STORIES}\n{code}\nprint('ok')")
    code, out, err = program.end()
    assert (code, out.splitlines()[-1:], err) == (0, ["ok"], "")
    assert os.listdir(runtime_dir) == []


def test_in_a_jupyter_kernel_it_states_what_to_do(person):
    embeds = (
        "try: repl_pair.embed()\nexcept repl_pair.ReplPairError as error: print(error.code, error)"
    )
    assert person.run(f"import repl_pair\n{embeds}").text == (
        "cannot_run This process is a Jupyter kernel already: %pair attach prints the line by "
        "which an agent attaches to it.\n"
    )


def lines_of(code, folder):
    """Run a program; gives the lines of its stdout, and its stderr."""
    command, env = [sys.executable, "-W", "ignore", "-c", code], environment(folder)
    given = {"capture_output": True, "text": True, "timeout": BOUND_S, "env": env, "check": False}
    ran = subprocess.run(command, **given)
    return ran.stdout.splitlines(), ran.stderr


FORKED = """
import os, repl_pair
kernel = repl_pair.embed(name="master")
child = os.fork()
if not child:
    try:
        print(repl_pair.embed(name="worker"), flush=True)
    except repl_pair.ReplPairError as error:
        print(error.code, error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(repl_pair.embed() is kernel, flush=True)
kernel.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_is_not_given_the_kernel_of_the_one_it_came_from(tmp_path):
    lines, errors = lines_of(FORKED, tmp_path)
    refused, is_same = lines
    assert refused.startswith("cannot_run This process was forked from process "), errors
    assert is_same == "True"


WORKERS = """
import os, repl_pair
from concurrent.futures import ThreadPoolExecutor
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.ops.surface.members import STATES
from repl_pair.runtime.store import STORE
count = repl_pair.surface("app").cell("count", int, default=0)
repl_pair.story("it", component=lambda: 1, thread_safe=True)
repl_pair.variant("it/Is")
repl_pair.run_variants()
for number in range(2):
    if not (child := os.fork()):
        kernel = repl_pair.embed(name="worker")
        with ThreadPoolExecutor(1) as pool:
            swept = repl_pair.run_variants(executor=pool).status
        print(BOOT.id, STORE.seq, STATES["app/count"].revision, swept, flush=True)
        count.set(number)
        kernel.close()
        os._exit(0)
    os.waitpid(child, 0)
print(BOOT.id, STORE.seq, STATES["app/count"].revision, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_workers_that_were_forked_from_one_process_are_others_to_agents(tmp_path):
    lines, errors = lines_of(WORKERS, tmp_path)
    first, second, master = map(str.split, lines)
    assert len({first[0], second[0], master[0]}) == 3, errors
    assert first[3] == second[3] == "pass"
    for slot in (1, 2):
        assert int(second[slot]) > int(first[slot]) > int(master[slot])
