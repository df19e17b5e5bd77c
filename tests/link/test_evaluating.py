"""Code that an agent sends, over each link: its answer, and what the person finds after it."""

import pytest
from bounds import DEADLINES_S

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

EVAL = View(principal="claude", access=frozenset({"read", "run", "inspect", "eval"}))
HERS = """
import repl_pair
rows, total = [1, 2], 10
class Account:
    def __init__(self):
        self.name, self.password = "Ann", "zq83kfm2x-of-ann"
    def __repr__(self):
        return f"Account({self.password})"
account = Account()
@repl_pair.story("shop.sum")
def add(n: int = 1): return n + total
repl_pair.variant("shop.sum/One")
"""


async def ask(link, code, **args):
    return await link.get("eval_code", view=EVAL, code=code, **args)


async def look(link, *paths):
    """Return values of the person's by path, None where there is none."""
    replies = [await link.ask("get_value", view=EVAL, path=path) for path in paths]
    return [reply["result"]["value"] if reply["ok"] else None for reply in replies]


def shown(answer, *slots):
    return {slot: answer.get(slot) for slot in slots}


async def test_the_value_is_the_last_expression_and_output_is_in_the_answer(link):
    await link.define(HERS)
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nrows + [total]"
    answer = await ask(link, code)
    assert shown(answer, "status", "value", "stdout", "stderr") == {
        "status": "ok",
        "value": [1, 2, 10],
        "stdout": "out\n",
        "stderr": "err\n",
    }
    assert answer["elapsed_ms"] > 0
    assert "value" not in await ask(link, "x = 1")


async def test_a_copy_of_the_names_is_new_at_each_call_and_shares_what_it_holds(link):
    await link.define(HERS)
    code = "total = 11\nrows.append(3)\ndef f(): return total\nf()"
    answer = await ask(link, code)
    assert shown(answer, "value", "names") == {"value": 11, "names": None}
    assert (await ask(link, "f()"))["error"]["type"] == "NameError"
    assert await look(link, "total", "rows") == [10, [1, 2, 3]]


async def test_in_the_persons_namespace_it_assigns_and_names_what_it_did(link):
    await link.define(HERS)
    code = "new = total = 12\ndel rows\n_hidden = 1"
    answer = await ask(link, code, scope="user")
    names = {"added": ["new"], "changed": ["total"], "removed": ["rows"]}
    assert answer["names"] == names
    assert await look(link, "new", "total", "rows") == [12, 12, None]
    assert (await link.run("shop.sum/One"))["result"] == 13


async def test_await_stands_at_the_top(link):
    code = "import asyncio\nx = await asyncio.sleep(0, 4)\nx + await asyncio.sleep(0.01, 1)"
    assert (await ask(link, code))["value"] == 5


async def test_a_syntax_error_has_line_and_caret_and_nothing_ran(link):
    await link.define(HERS)
    answer = await ask(link, "rows.append(9)\ntotal = = 3", scope="user")
    assert answer["status"] == "error"
    place = {"line": 2, "column": 9, "code": "total = = 3", "caret": "        ^"}
    assert {slot: answer["error"][slot] for slot in place} == place
    assert await look(link, "rows", "total") == [[1, 2], 10]


async def test_an_exception_is_described_with_its_lines_and_what_there_was_before_it(link):
    code = "def f(n):\n    return 1 / n\nprint('before')\ntry:\n    f(0)\n"
    code += "except ZeroDivisionError as error:\n    raise ValueError('no') from error"
    answer = await ask(link, code)
    assert shown(answer, "status", "stdout") == {"status": "error", "stdout": "before\n"}
    error = answer["error"]
    assert shown(error, "type", "message", "line") == {
        "type": "ValueError",
        "message": "no",
        "line": 7,
    }
    assert error["code"] == "raise ValueError('no') from error"
    assert shown(error["causes"][0], "type", "line", "code") == {
        "type": "ZeroDivisionError",
        "line": 2,
        "code": "return 1 / n",
    }


async def test_what_would_end_the_process_or_ask_the_person_ends_the_code_alone(link):
    for code, kind in [
        ("import sys; sys.exit(3)", "SystemExit"),
        ("import os; os._exit(3)", "SystemExit"),
        ("raise SystemExit", "SystemExit"),
        ("input('?')", "EOFError"),
        ("import getpass; getpass.getpass()", "EOFError"),
        ("raise StopIteration(1)", "StopIteration"),
    ]:
        answer = await ask(link, code)
        assert (code, answer["status"], answer["error"]["type"]) == (code, "error", kind)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("code", ["while True: pass", "import asyncio; await asyncio.sleep(60)"])
async def test_it_is_stopped_at_its_deadline_with_its_output_and_where_it_stood(link, code):
    for limit_s in DEADLINES_S:
        answer = await ask(link, f"print('so far')\n{code}", timeout_s=limit_s)
        if answer["error"].get("line") == 2:
            break
    assert shown(answer, "status", "reason", "stdout", "still_running") == {
        "status": "error",
        "reason": f"not done within {limit_s:g} s",
        "stdout": "so far\n",
        "still_running": None,
    }
    assert shown(answer["error"], "type", "line") == {"type": "Stopped", "line": 2}


async def test_known_secrets_stand_nowhere_in_the_answer(link):
    await link.define(HERS)
    code = "print(account)\nkept = account.password\n"
    code += "raise ValueError(account.password)"
    answer = await ask(link, code)
    assert "zq83kfm2x" not in str(answer)
    assert answer["stdout"] == "Account([redacted])\n"
    for value in ("account.password", "account", "{account.password: [account.password]}"):
        reply = await link.ask("eval_code", view=EVAL, code=value)
        assert "zq83kfm2x" not in str(reply)
        assert reply["redacted"]
    made = "class Vault:\n    api_key = 'made-' + 'of-84-two-parts'\nprint(Vault.api_key)\n"
    answer = await ask(link, f"{made}vault = {{'api_key': Vault.api_key}}")
    assert answer["stdout"] == "[redacted]\n"
    raised = "def login():\n    token = 'xW3kZ9' + 'pL2qR1'\n    raise ValueError(token)\nlogin()"
    assert (await ask(link, raised))["error"]["message"] == "[redacted]"
    short = await ask(link, "password = '12' + '34'\npassword")
    assert short["value"] == "[redacted]"


async def test_what_it_registers_is_the_agents_and_replaces_nothing_of_the_persons(link):
    await link.define(HERS)
    makes = "import repl_pair\ndef twice(n: int = 2): return n * 2\n"
    new = "repl_pair.story('shop.twice', component=twice)\nrepl_pair.variant('shop.twice/Two')\n"
    assert (await ask(link, makes + new, scope="user"))["status"] == "ok"
    found = await link.get("get_variant", variant_id="shop.twice/Two")
    assert found["registered"]["where"] == "agent claude"
    assert (await link.run("shop.twice/Two"))["result"] == 4
    taken = await ask(link, f"{makes}repl_pair.story('shop.sum', component=twice)", scope="user")
    assert taken["error"]["type"] == "AuthoringError"
    assert "is taken by what the person registered" in taken["error"]["message"]
    assert (await link.run("shop.sum/One"))["result"] == 11
    threaded = "import threading\nt = threading.Thread(target=lambda: repl_pair.tag('mine'))\n"
    await ask(link, f"import repl_pair\n{threaded}t.start(); t.join()")
    undone = await ask(link, "import repl_pair\nrepl_pair.undo_agent('claude')")
    assert undone["value"] == ["story shop.twice", "tag mine", "variant shop.twice/Two"]


async def test_a_run_within_it_is_a_run_as_ever(link):
    await link.define(HERS)
    answer = await ask(link, "import repl_pair\nrepl_pair.run('shop.sum/One').result")
    assert answer["value"] == 11
    assert (await link.get("read_assertions", variant_id="shop.sum/One"))["status"] == "pass"


async def test_bad_arguments_and_a_closed_gate_are_refused_before_anything_runs(link):
    await link.define(HERS)
    touch = "rows.append(4)"
    for args in (
        {"code": f"{touch}  #{'x' * 65_536}"},
        {"code": touch, "scope": "all"},
        {"code": touch, "timeout_s": -1},
        {"code": touch.encode().hex(), "sope": "user"},
        {},
    ):
        refused = await link.refusal("eval_code", view=EVAL, **args)
        assert refused["code"] == "bad_arguments", args
    for access in ({"read", "run"}, {"read", "run", "inspect", "write"}):
        view = View(principal="claude", access=frozenset(access))
        closed = await link.refusal("eval_code", view=view, code=touch)
        unknown = await link.refusal("eval_cody", view=view, code=touch)
        assert closed["code"] == unknown["code"] == "not_found"
        heads = [found["message"].partition(".")[0] for found in (closed, unknown)]
        assert heads == ["There is no op 'eval_code'", "There is no op 'eval_cody'"]
    assert await look(link, "rows") == [[1, 2]]
