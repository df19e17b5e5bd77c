"""Code that an agent sends beside the person who works in the kernel: what it must leave alone."""

import ast
import asyncio

import pytest
from bounds import BOUND_S, DEADLINE_S

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

EVAL = View(principal="claude", access=frozenset({"read", "run", "eval"}))
STATE = """
import linecache, sys
def state():
    shell = get_ipython()
    return [
        shell.execution_count, shell.user_ns["In"][:], dict(shell.user_ns["Out"]),
        [shell.user_ns[n] for n in ("_", "__", "_i", "_ii")], len(shell.history_manager.outputs),
        [n for n in linecache.cache if "eval_code" in n],
        [str(getattr(sys, n, None)) for n in ("last_type", "last_value", "last_traceback")],
        sorted(n for n in shell.user_ns if not n.startswith("_") and n != "sys"),
    ]
"""


@pytest.fixture
def cell(person):
    """Runs a cell of the person's: `await cell(code)`."""

    async def run(code):
        return await asyncio.to_thread(person.run, code)

    return run


@pytest.fixture
def look(person):
    """Evaluates an expression between the person's cells, where it leaves no trace."""

    def ask(expression):
        content = {"code": "", "silent": True, "user_expressions": {"it": f"repr({expression})"}}
        sent = person._session.send(person._shell, "execute_request", content)
        answer = person._next(person._shell, sent["header"]["msg_id"])["content"]
        found = answer["user_expressions"]["it"]["data"]["text/plain"]
        return ast.literal_eval(ast.literal_eval(found))

    return lambda expression: asyncio.to_thread(ask, expression)


async def send(link, code, **args):
    """Let an agent run code; give the answer."""
    args = {"code": code, "wait_s": BOUND_S, **args}
    reply = await link.request("eval_code", args, view=EVAL, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def failing(person, code):
    """Run a cell that fails; give its traceback as plain text."""
    started = await asyncio.to_thread(person.start, code)
    reply = (await asyncio.to_thread(person.finish, started)).reply
    assert reply["status"] == "error"
    return "\n".join(reply["traceback"])


async def test_history_counter_last_error_and_lines_are_the_persons(link, person, cell, look):
    await cell(STATE)
    await cell("40 + 2")
    await failing(person, "1 / 0")
    before = await look("state()")
    assert "ZeroDivisionError" in before[6][0]
    for scope in ("scratch", "user"):
        for code in ("_ = 3\n_", "raise ValueError", "x = = 1", "for _ in (): pass\n[_, In, Out]"):
            await send(link, code, scope=scope)
        await send(link, "import sys\nsys.last_value = sys.last_type = _ = 1", scope=scope)
        await send(link, "get_ipython().run_cell('[][0]')", scope=scope)
    assert await look("state()") == before


async def test_a_function_that_it_leaves_is_shown_with_its_lines_and_prints_to_the_person(
    link, person, cell, look
):
    code = "def divide(n):\n    print('dividing')\n    return 1 / n"
    assert (await send(link, code, scope="user"))["names"] == {"added": ["divide"]}
    assert (await cell("divide(1)")).text == "dividing\n"
    shown = await failing(person, "divide(0)")
    for part in ("<eval_code", "of agent claude>", "return", "ZeroDivisionError"):
        assert part in shown
    kept = "[n for n in __import__('linecache').cache if 'eval_code' in n]"
    assert len(await look(kept)) == 1
    await send(link, "def other(): pass", scope="user")
    assert len(await look(kept)) == 2
    await cell("del other")
    assert len(await look(kept)) == 1


async def test_its_threads_and_tasks_put_out_into_its_answer_and_to_nobody_later(
    link, cell, tmp_path
):
    gate = tmp_path / "gate"
    code = f"""
import asyncio, os, threading, time
printed = threading.Event()
def work():
    print("in a thread")
    printed.set()
    while not os.path.exists({str(gate)!r}): time.sleep(0.005)
    print("late, in a thread")
async def later():
    while not os.path.exists({str(gate)!r}): await asyncio.sleep(0.005)
    print("late, in a task")
threads.append(threading.Thread(target=work)); threads[0].start()
tasks.append(asyncio.create_task(later()))
await asyncio.gather(asyncio.to_thread(printed.wait), asyncio.to_thread(print, "in a pool"))
"""
    await cell("import asyncio; threads, tasks = [], []")
    answer = await send(link, code)
    assert (answer["stdout"], answer["unattributed"]) == ("in a pool\n", "in a thread\n")
    gate.touch()
    ran = await cell("threads[0].join(); await tasks[0]; print('mine')")
    assert ran.text == "mine\n"


async def test_an_await_of_it_runs_on_the_persons_loop_beside_their_tasks(link, cell):
    await cell("""
import asyncio
beats, made = [], asyncio.get_running_loop().create_future()
async def beat():
    while True:
        beats.append(1); print("beat")
        await asyncio.sleep(0.001)
beating = asyncio.create_task(beat())
asyncio.get_running_loop().call_later(0.05, made.set_result, "made by the person's loop")
""")
    answer = await send(
        link,
        "seen = len(beats)\nwhile len(beats) < seen + 3: await asyncio.sleep(0.01)\nawait made",
    )
    assert answer["value"] == "made by the person's loop"
    assert (
        await cell("beating.cancel(); asyncio.get_running_loop() is made.get_loop()")
    ).value == ("True")


async def test_code_that_cannot_be_stopped_is_answered_with_what_there_is(link, cell, tmp_path):
    gate = tmp_path / "gate"
    await cell(f"import os, time\nover = lambda: os.path.exists({str(gate)!r})")
    code = """print('begun')
new = 1
while not over():
    try:
        while not over(): time.sleep(0.01)
    except BaseException: pass
print('late')"""
    answer = await send(link, code, scope="user", timeout_s=DEADLINE_S)
    assert (answer["status"], answer["still_running"]) == ("error", True)
    assert (answer["stdout"], answer["names"]) == ("begun\n", {"added": ["new"]})
    assert answer["error"]["line"] == 5
    assert answer["elapsed_ms"] >= DEADLINE_S * 1000
    args = {"code": "1", "wait_s": 0.2}
    waiting = await link.request("eval_code", args, view=EVAL, timeout_s=BOUND_S)
    assert waiting["result"]["status"] == "cannot_run"
    assert "a call of eval_code that was asked to stop" in waiting["result"]["reason"]
    gate.touch()
    assert (await send(link, "new"))["value"] == 1
    assert (await cell("print('mine')")).text == "mine\n"


async def test_cells_that_register_are_retired_by_cells_alone(link, cell):
    await cell("import repl_pair\ndef f(): return 1\nrepl_pair.story('a.b', component=f)")
    await cell("repl_pair.variant('a.b/One')")
    ids = "repl_pair.registry.ids('variant'), repl_pair.registry.ids('story')"
    code = "get_ipython().run_cell('repl_pair.tag(\"t\")')\nrepl_pair.variant('a.b/Mine')"
    assert (await send(link, code))["status"] == "ok"
    assert (await send(link, "get_ipython().run_cell('1')"))["status"] == "ok"
    await cell("1")
    assert (await cell(ids)).value == "(['a.b/Mine', 'a.b/One'], ['a.b'])"
    label = "repl_pair.registry.find('tag', 't').origin.label"
    assert (await cell(label)).value == "'agent claude'"
    assert (await cell("repl_pair.undo_agent()")).value == "['tag t', 'variant a.b/Mine']"


MODULE = """
import repl_pair
def f(): return {n}
repl_pair.story("mod.f", component=f)
repl_pair.variant("mod.f/V{n}")
"""


async def test_a_module_that_it_imports_registers_as_a_module_does(link, cell, tmp_path):
    await cell(f"import importlib, sys, repl_pair; sys.path.insert(0, {str(tmp_path)!r})")
    (tmp_path / "shop_mod.py").write_text(MODULE.format(n=1))
    assert (await send(link, "import shop_mod"))["status"] == "ok"
    ids = "repl_pair.registry.ids('variant')"
    assert (await cell(ids)).value == "['mod.f/V1']"
    (tmp_path / "shop_mod.py").write_text(MODULE.format(n=22))
    answer = await send(link, "import importlib, sys; importlib.reload(sys.modules['shop_mod'])")
    assert answer["status"] == "ok", answer
    assert (await cell(ids)).value == "['mod.f/V22']"
    assert (await cell("repl_pair.undo_agent()")).value == "[]"
