"""A kernel whose Python cannot import repl_pair, and the runtime that is shipped there."""

import ast
import asyncio
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import ipykernel
import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.__main__ import program
from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.inject import expression
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

INJECTING_S = 1.5 * BOUND_S
AGENT = View(principal="agent")

# As a virtual environment without the package: all else that is installed, and no more.
ELSEWHERE = """
import os, sys
sys.path[:] = [{others!r}] + [
    folder for folder in sys.path if not os.path.isdir(os.path.join(folder, "repl_pair"))
]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
"""
SLOW_IMPORT = """
import builtins, time
def import_slowly(name, *args, whole=builtins.__import__, **named):
    if name == "repl_pair.runtime.kernel.attach":
        time.sleep(3.0)
    return whole(name, *args, **named)
builtins.__import__ = import_slowly
"""
MISSING = "import importlib.util; importlib.util.find_spec('repl_pair') is None"
MODULES = "import sys; sorted({name.partition('.')[0] for name in sys.modules})"
HOOKS = "[[type(f).__name__ if not isinstance(f, type) else f.__name__ for f in sys.meta_path],"
HOOKS += "len(sys.path), len(sys.path_hooks), sorted(n for n in globals() if n[0] != '_')]"
STORY = '''
import repl_pair, time

def now():
    return time.time()

@repl_pair.loader("noon")
def noon():
    with repl_pair.stub("__main__.now", lambda: 12):
        yield

@repl_pair.story("clock", thread_safe=True)
def clock(add: int = 0):
    """Tell the time."""
    print("it is")
    return now() + add
repl_pair.variant(
    "clock/Noon", args={"add": 1}, loaders=["noon"],
    play=[repl_pair.check.path_equals("result", 13)],
)
'''


@pytest.fixture
def bare_kernel(start_kernel, tmp_path):
    """A kernel that cannot import repl_pair."""
    folder, others = tmp_path / "elsewhere", tmp_path / "others"
    folder.mkdir()
    others.mkdir()
    for installed in Path(ipykernel.__file__).parents[1].iterdir():
        if "repl_pair" not in installed.name:
            (others / installed.name).symlink_to(installed)
    (folder / "sitecustomize.py").write_text(ELSEWHERE.format(others=str(others)))
    return start_kernel(env={"PYTHONPATH": str(folder)})


@pytest.fixture
def bare_person(bare_kernel, sit_at):
    """The person at it."""
    person = sit_at(bare_kernel)
    assert person.run(MISSING).value == "True"
    return person


@pytest.fixture
async def link_to(bare_kernel):
    links = []

    def make(**options):
        links.append(KernelLink(find_kernel(str(bare_kernel.path)), **options))
        return links[-1]

    yield make
    for link in links:
        await link.close()


async def ask(link, op, **args):
    return await link.request(op, args, view=AGENT, timeout_s=INJECTING_S)


async def result_of(link, op, **args):
    reply = await ask(link, op, **args)
    assert reply["ok"], str(reply)
    return reply["result"]


async def at_desk(fn, *args):
    return await asyncio.to_thread(fn, *args)


def value_of(person, cell):
    return ast.literal_eval(person.run(cell).value)


async def test_only_who_asks_for_it_has_the_runtime_shipped(bare_person, link_to):
    refused = await ask(link_to(), "ping")
    assert refused["error"]["code"] == "package_missing"
    assert [" -m pip install .`" in s for s in refused["hints"]] == [True, False]
    assert "--inject" in refused["hints"][1]
    assert (await at_desk(bare_person.run, MISSING)).value == "True"
    assert (await result_of(link_to(inject=True), "ping"))["injected"] is True
    assert (await result_of(link_to(), "ping"))["injected"] is True


async def test_a_kernel_that_imports_slowly_is_not_called_blocked(bare_person, link_to):
    await at_desk(bare_person.run, SLOW_IMPORT)
    assert (await result_of(link_to(inject=True), "ping"))["injected"] is True


async def test_the_shipped_runtime_does_all_that_an_installed_one_does(
    bare_kernel, bare_person, link_to
):
    before = set(await at_desk(value_of, bare_person, MODULES))
    hooks = await at_desk(value_of, bare_person, HOOKS)
    link = link_to(inject=True)
    assert (await ask(link, "ping"))["ok"]
    assert await at_desk(value_of, bare_person, HOOKS) == hooks
    await at_desk(bare_person.run, STORY)
    for lane in ("main", "worker"):
        ran = await result_of(
            link, "run_variant", variant_id="clock/Noon", lane=lane, detail="full"
        )
        assert (ran["status"], ran["total"], ran["stdout"]) == ("pass", 1, "it is\n")
        assert ran["identity"]["code_hash"] != "unknown"
    own = "record = repl_pair.run('clock/Noon'); [record.status, record.stdout]"
    assert await at_desk(value_of, bare_person, own) == ["pass", "it is\n"]
    after = set(await at_desk(value_of, bare_person, MODULES))
    assert after - before - sys.stdlib_module_names == {"repl_pair"}
    source = "import inspect; [inspect.getsource(repl_pair.run)[:8], repl_pair.run.__doc__[:3]]"
    assert await at_desk(value_of, bare_person, source) == ["def run(", "Run"]
    failed = await at_desk(bare_person.finish, bare_person.start("repl_pair.run('clock/Nonn')"))
    assert failed.reply["ename"] == "RequestError"
    assert any("REGISTRY.get(" in line for line in failed.reply["traceback"])
    refused = await at_desk(bare_person.finish, bare_person.start("repl_pair.show()"))
    assert "Panels need repl_pair to be installed" in refused.reply["evalue"]
    for cell in ("%load_ext repl_pair\n%pair detach", "%pair attach"):
        shown = await at_desk(bare_person.run, cell)
    assert "    repl-pair mcp --inject --kernel " in (shown.text + str(shown.value))
    assert (await result_of(link, "run_variant", variant_id="clock/Noon"))["status"] == "pass"


def test_every_command_that_takes_a_kernel_ships_it_on_request():
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
    options = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in commands.items()
    }
    taking = {name for name, known in options.items() if "--kernel" in known}
    assert {"mcp", "run", "list", "op", "init"} <= taking
    assert taking == {name for name, known in options.items() if "--inject" in known}


async def test_the_command_line_ships_it_on_request(bare_kernel, bare_person):
    command = [sys.executable, "-m", "repl_pair", "op", "kernel_status", "--inject"]
    command += ["--kernel", str(bare_kernel.path)]
    run = partial(subprocess.run, command, capture_output=True, text=True, timeout=INJECTING_S)

    def seen():
        ran.append(run())
        return '"injected"' in ran[-1].stdout

    ran = []
    # A status waits 3 s for the kernel, which on a busy machine may load the runtime for longer.
    await at_desk(partial(wait_until, seen, what=ran))
    assert json.loads(ran[-1].stdout)["result"]["injected"] is True, ran


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
STATUS = {"name": "kernel_status", "arguments": {}}


async def test_the_mcp_server_ships_it_on_request(bare_kernel, bare_person):
    def serve(*options):
        command = [sys.executable, "-m", "repl_pair", "mcp", *options]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as server:

            def send(frame):
                server.stdin.write(json.dumps({"jsonrpc": "2.0"} | frame) + "\n")
                server.stdin.flush()

            def status():
                send({"id": 2, "method": "tools/call", "params": STATUS})
                answers = (json.loads(line) for line in server.stdout)
                answer = next(answer for answer in answers if answer.get("id") == 2)
                heard.append(answer["result"]["structuredContent"]["result"])
                return "injected" in heard[-1]

            send({"id": 1, "method": "initialize", "params": HELLO})
            send({"method": "notifications/initialized"})
            heard = []
            wait_until(status, what=heard)  # as above
            server.stdin.close()
            return heard[-1]

    status = await at_desk(serve, "--inject", "--kernel", str(bare_kernel.path))
    assert (status["alive"], status["injected"]) == (True, True), status


async def test_a_cell_that_runs_is_left_alone(bare_person, link_to, tmp_path):
    cell = f"""
import pathlib, time
while not pathlib.Path({str(tmp_path / "go")!r}).exists(): time.sleep(0.01)
for n in range(100): pass
'mine'"""
    running = await at_desk(bare_person.start, cell)
    assert (await result_of(link_to(inject=True), "ping"))["busy"] is True
    (tmp_path / "go").touch()
    ran = await at_desk(bare_person.finish, running)
    assert [m["msg_type"] for m in ran.messages] == ["execute_result", "status"]
    assert await at_desk(value_of, bare_person, "[_, n, len(In), sorted(Out)]") == [
        "mine",
        99,
        4,
        [1, 2],
    ]


async def test_where_the_package_is_there_and_broken_nothing_is_put_over_it(start_kernel, sit_at):
    kernel = start_kernel("--IPKernelApp.exec_lines=import sys; sys.modules['repl_pair'] = None")
    link = KernelLink(find_kernel(str(kernel.path)), inject=True)
    refused = await ask(link, "ping")
    await link.close()
    assert refused["error"]["code"] == "unsupported_kernel"
    assert "its import is blocked or broken" in refused["error"]["message"]
    assert sit_at(kernel).run("import sys; sys.modules['repl_pair']").value is None


async def test_a_folder_of_its_name_is_not_taken_for_the_package(bare_person, link_to):
    bare_person.run("import os, sys; os.makedirs('repl_pair/docs'); sys.path.insert(0, '')")
    assert bare_person.run("import repl_pair; repl_pair.__spec__.origin is None").value == "True"
    refused = await ask(link_to(), "ping")
    assert refused["error"]["code"] == "package_missing"
    assert "--inject" in refused["hints"][-1]
    await result_of(link_to(inject=True), "ping")


def bare_python(code):
    """Run code in a Python that has nothing but its standard library."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-"],
        input=code,
        capture_output=True,
        text=True,
        timeout=INJECTING_S,
    )


def test_the_shipped_runtime_needs_the_standard_library_only():
    code = f"before = set(__import__('sys').modules)\nassert ({expression()}) is None\n"
    code += "import sys; print(*{m.partition('.')[0] for m in set(sys.modules) - before})\n"
    code += "print(*[f for f in sys.meta_path if not isinstance(f, type)])\n"
    ran = bare_python(code)
    assert ran.stderr == ""
    modules, hooks = ran.stdout.splitlines()
    assert set(modules.split()) - sys.stdlib_module_names == {"repl_pair"}
    assert hooks == ""


def test_a_python_that_is_too_old_reports_it():
    ran = bare_python(f"import sys; sys.version_info = (3, 10, 13)\n{expression()}")
    assert ran.stderr.splitlines()[-1] == (
        "RuntimeError: it is Python 3.10.13, and repl_pair takes 3.11 or later"
    )


def test_a_load_that_fails_leaves_no_module_behind():
    code = f"import sys; sys.modules['repl_pair.wire'] = None\ntry:\n    {expression()}\n"
    code += "except ImportError:\n    print([m for m in sys.modules if m[:9] == 'repl_pair'])\n"
    code += "print(*[f for f in sys.meta_path if not isinstance(f, type)])\n"
    assert bare_python(code).stdout == "[]\n\n"


def test_only_what_needs_a_library_that_a_python_lacks_is_not_there():
    code = f"import sys; sys.modules['_sqlite3'] = None\n{expression()}\n"
    code += "import repl_pair; repl_pair.story('a', component=len); print('a')\n"
    code += "import repl_pair.runtime.review.annotations\n"
    ran = bare_python(code)
    assert ran.stdout == "a\n"
    assert "import of _sqlite3 halted" in ran.stderr.splitlines()[-1]
