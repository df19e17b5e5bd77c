"""What an agent reads of the person's cells: the error that ended the last one, and what ran."""

import json

import pytest

SHOP = '''"""A module of the person's."""

def price(line):
    rates = {"EUR": 1.1}
    return line["price"] * rates[line["currency"]]

def total(lines):
    return sum(price(line) for line in lines)
'''
SETUP = f"""
import json, pathlib, sys
import pandas
pathlib.Path("shop.py").write_text({SHOP!r})
sys.path.insert(0, "")
import shop
orders = [{{"price": 2.0, "currency": "EUR"}}, {{"price": 3.0, "currency": "USD"}}]
frame = pandas.DataFrame({{"sku": ["a", "b"], "price": [1.0, 2.0]}})
"""


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    options = ("--allow", "inspect", "--toolsets", "values")
    with connect("--kernel", kernel.path, *options) as agent:
        yield agent


def fail(kernel, code):
    """Run a cell that fails; gives its number."""
    ran = kernel.run(code)
    assert ran.error is not None
    return ran.count


def read(inspector, **args):
    reply = inspector.ask("read_traceback", **args)
    assert reply["ok"], reply
    return reply["result"]


def own(found):
    return [frame for frame in found["frames"] if "library_frames" not in frame]


def history(inspector, **args):
    return inspector.ask("read_history", **args)["result"]["items"]


NESTED = """
def outer(n):
    def inner(m):
        return 10 // m
    return inner(n)
outer(0)
"""
RAISED_FROM = """
try:
    int("x")
except ValueError as error:
    raise RuntimeError("no number") from error
"""
DURING = """
try:
    {}["a"]
except KeyError:
    len(3)
"""
GROUP = """
def one(): raise ValueError("first")
def two(): raise ExceptionGroup("inner", [KeyError("second"), OSError(2, "gone", "f")])
found = []
for part in (one, two):
    try:
        part()
    except Exception as error:
        found.append(error)
raise ExceptionGroup("several", found) from found[0]
"""
CASES = {
    "a nested function": (
        NESTED,
        ("ZeroDivisionError", "integer division or modulo by zero"),
        (3, "outer.<locals>.inner", "return 10 // m"),
    ),
    "a module": (
        "shop.total(orders)",
        ("KeyError", "'USD'"),
        (5, "price", 'return line["price"] * rates[line["currency"]]'),
    ),
    "a library": ('1\nframe["prise"]', ("KeyError", "'prise'"), (2, "<module>", 'frame["prise"]')),
    "a cause": (
        RAISED_FROM,
        ("RuntimeError", "no number"),
        (4, "<module>", 'raise RuntimeError("no number") from error'),
    ),
    "one during another": (
        DURING,
        ("TypeError", "object of type 'int' has no len()"),
        (4, "<module>", "len(3)"),
    ),
    "a group": (
        GROUP,
        ("ExceptionGroup", "several (2 sub-exceptions)"),
        (9, "<module>", 'raise ExceptionGroup("several", found) from found[0]'),
    ),
    "an interrupt": (
        "raise KeyboardInterrupt",
        ("KeyboardInterrupt", ""),
        (1, "<module>", "raise KeyboardInterrupt"),
    ),
    "an exit": ("sys.exit(3)", ("SystemExit", "3"), (1, "<module>", "sys.exit(3)")),
    "an awaiting cell": (
        "import asyncio\nawait asyncio.sleep(0)\nnothing",
        ("NameError", "name 'nothing' is not defined"),
        (3, "<module>", "nothing"),
    ),
    "a magic": (
        "%nothing",
        ("UsageError", "Line magic function `%nothing` not found."),
        (1, "<module>", "get_ipython().run_line_magic('nothing', '')"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_names_its_cause_and_the_line_of_the_persons_code(kernel, inspector, case):
    code, (kind, message), (line, function, text) = CASES[case]
    cell = f"In[{fail(kernel, code)}]"
    found = read(inspector)
    assert (found["type"], found["message"], found["cell"]) == (kind, message, cell)
    last = own(found)[-1]
    assert (last["line"], last["function"], last["code"]) == (line, function, text)
    assert last["where"] == cell or last["where"].endswith("shop.py")
    assert history(inspector, limit=1)[0] | {"outputs": [], "seconds": 0} == {
        **{"n": int(cell[3:-1]), "cell": cell, "code": code.strip("\n"), "status": "error"},
        **{"error": f"{kind}: {message}" if message else kind, "outputs": [], "seconds": 0},
    }


def test_frames_of_libraries_stand_in_one_row_behind_the_persons_line(kernel, inspector):
    fail(kernel, CASES["a library"][0])
    found = read(inspector)
    first, library = found["frames"]
    assert "library_frames" not in first
    assert library["where"].startswith("pandas/")
    assert library["library_frames"] >= 2
    assert [cause["type"] for cause in found["causes"]] == ["KeyError"]


def test_causes_and_the_parts_of_groups_come_with_their_lines(kernel, inspector):
    fail(kernel, RAISED_FROM)
    (cause,) = read(inspector)["causes"]
    assert (cause["type"], cause["line"], cause["code"]) == ("ValueError", 2, 'int("x")')
    fail(kernel, DURING)
    assert [cause["type"] for cause in read(inspector)["causes"]] == ["KeyError"]
    fail(kernel, GROUP)
    found = read(inspector)
    parts = [(one["type"], one["message"]) for one in found["group"]]
    gone = ("FileNotFoundError", "[Errno 2] gone: 'f'")
    assert parts == [("ValueError", "first"), ("KeyError", "'second'"), gone]
    assert found["in_group"] == 3
    assert (found["group"][0]["line"], found["causes"][0]["message"]) == (1, "first")


SYNTAX = {
    "x = [1,\ny = 2": ("'[' was never closed", 1, "x = [1,", "    ^"),
    "if 1:\n    a = = 3": ("invalid syntax", 2, "a = = 3", "    ^"),
}


@pytest.mark.parametrize("code", SYNTAX)
def test_a_syntax_error_is_its_line_with_a_caret(kernel, inspector, code):
    cell = f"In[{fail(kernel, code)}]"
    found = read(inspector)
    message, line, text, caret = SYNTAX[code]
    assert (found["type"], found["message"], found["cell"]) == ("SyntaxError", message, cell)
    assert found["frames"] == [{"where": cell, "line": line, "code": text, "caret": caret}]


def test_of_a_line_below_the_name_of_a_secret_a_syntax_error_shows_no_literal(kernel, inspector):
    fail(kernel, "connect(\n  password=\n    'hun7r' 'x\n)")
    shown = read(inspector)["frames"][-1]
    assert (shown["line"], shown["code"]) == (3, '"[redacted]" "[redacted]"')


@pytest.mark.parametrize(
    "code", ["get_token(\n  1,\n)", "%matplotlib agg\nget_token(\n  1,\n)", "%time get_token(1)\n"]
)
def test_the_result_of_a_call_over_lines_with_the_name_of_a_secret_is_not_shown(
    kernel, inspector, code
):
    kernel.cell("def get_token(at):\n  return 'hun' + str(at + 6) + 'r'")
    kernel.cell(code)
    assert history(inspector)[0]["outputs"][-1]["result"] == "[redacted]"
    kernel.cell("f'{get_token}'[:3]\n1 + 1")
    assert history(inspector)[0]["outputs"] == [{"result": "2"}]


def test_a_syntax_error_in_a_module_comes_behind_the_line_that_imports_it(kernel, inspector):
    kernel.cell("pathlib.Path('broken.py').write_text('ok = 1\\ndef f(:\\n')")
    cell = f"In[{fail(kernel, 'import broken')}]"
    lines = own(read(inspector))
    assert (lines[0]["where"], lines[0]["code"]) == (cell, "import broken")
    assert lines[-1]["where"].endswith("broken.py")
    assert (lines[-1]["line"], lines[-1]["code"]) == (2, "def f(:")


def test_notes_come_with_the_error(kernel, inspector):
    fail(kernel, "error = ValueError('x')\nerror.add_note('in row 7')\nraise error")
    assert read(inspector)["notes"] == ["in row 7"]


@pytest.mark.full
def test_a_way_that_repeats_itself_is_one_row_and_a_long_one_its_ends(kernel, inspector):
    fail(kernel, "def down(n):\n    return down(n + 1)\ndown(0)")
    found = read(inspector)
    first, second = own(found)
    assert (found["type"], first["code"], second["line"]) == ("RecursionError", "down(0)", 2)
    assert second["repeated"] > 900
    fail(kernel, "def odd(n):\n    return even(n + 1)\ndef even(n):\n    return odd(n + 1)\nodd(0)")
    reply = inspector.ask("read_traceback", locals=True)
    frames = reply["result"]["frames"]
    assert len(frames) == 12
    assert [frame["skipped"] for frame in frames if "skipped" in frame] > [900]
    assert len(json.dumps(reply)) < 8_000


def test_locals_are_those_of_the_persons_functions_bounded_and_as_data(kernel, inspector):
    code = """
def check(rows, token, fn, many):
    _own = 1
    for row in rows:
        assert row["n"], row
check([{"n": 1}, {"n": 0}], "kV7wXq2LmZ99", print, list(range(5000)))
"""
    fail(kernel, code)
    assert not [frame for frame in read(inspector)["frames"] if "locals" in frame]
    (held,) = [frame["locals"] for frame in read(inspector, locals=True)["frames"][1:]]
    assert held["rows"] == [{"n": 1}, {"n": 0}]
    assert (held["row"], held["token"]) == ({"n": 0}, "[redacted]")
    assert held["fn"] == "<builtin_function_or_method>"
    assert held["many"]["$elided"]["size"] == 5000
    assert "_own" not in held
    assert b"kV7wXq2LmZ" not in inspector.record.out


def test_the_next_steps_lead_to_locals_and_to_what_the_line_used(kernel, inspector):
    fail(kernel, "shop.total(orders)")
    steps = [(one["op"], one["args"]) for one in inspector.ask("read_traceback")["next_steps"]]
    get_value = ("get_value", {"path": "orders"})
    assert steps == [
        ("read_traceback", {"locals": True}),
        get_value,
        ("read_history", {"limit": 3}),
    ]
    steps = inspector.ask("read_history", limit=1)["next_steps"]
    assert steps[0] == {"op": "read_traceback", "args": {}}


def test_what_ran_before_the_agent_came_is_there_and_the_error_outlives_later_cells(
    start_own_kernel, connect
):
    kernel = start_own_kernel("1 + 1")
    assert kernel.run("items = []\nitems[3]").error
    kernel.cell("print('after')\nitems")
    kernel.cell("%time 2 + 2\n")
    with connect("--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values") as agent:
        found, items = read(agent), history(agent)
    assert (found["type"], found["cell"]) == ("IndexError", "In[2]")
    assert own(found)[-1]["code"] == "items[3]"
    assert [(one["n"], one["code"], one["status"]) for one in items] == [
        (4, "%time 2 + 2", "ok"),
        (3, "print('after')\nitems", "ok"),
        (2, "items = []\nitems[3]", "error"),
        (1, "1 + 1", "ok"),
    ]
    assert items[1]["outputs"] == [{"stdout": "after\n"}, {"result": "[]"}]
    assert items[2]["error"] == "IndexError: list index out of range"
    assert items[3]["outputs"] == [{"result": "2"}]
    assert not [one for one in items if "seconds" in one]


def test_no_error_yet_is_a_type_of_null_and_history_begins_empty(start_own_kernel, connect):
    kernel = start_own_kernel()
    with connect("--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values") as agent:
        assert read(agent) == {"type": None}
        assert agent.ask("read_history")["result"] == {"items": [], "total": 0}
        kernel.cell(
            "class Odd:\n    def _repr_html_(self):\n        raise KeyError('of a display')"
        )
        kernel.run("Odd()")
        kernel.cell("import sys\nassert type(sys.last_value) is KeyError")
        assert read(agent) == {"type": None}


def test_of_an_error_that_the_person_let_go_its_text_is_left(kernel, inspector):
    failed = fail(kernel, "raise LookupError('let go')")
    kernel.cell("del sys.last_type, sys.last_value, sys.last_traceback")
    assert read(inspector) == {
        **{"type": "LookupError", "message": "let go", "cell": f"In[{failed}]"},
        "left_out": "frames: the exception itself is no longer there",
    }


def test_an_error_of_a_display_is_not_taken_for_that_of_a_cell(kernel, inspector):
    failed = fail(kernel, "raise LookupError('of a cell')")
    kernel.cell("class Shown:\n    def _repr_html_(self):\n        raise LookupError('shown')")
    kernel.run("Shown()")
    found = read(inspector)
    assert (found["message"], found["cell"]) == ("of a cell", f"In[{failed}]")
    assert "frames" not in found  # IPython keeps one exception


SCRIPT = """
from pathlib import Path
Path("fit_once.py").write_text("def fit(rate):\\n    return 1 / rate\\nfit(0)\\n")
"""


@pytest.mark.parametrize("how", ["fit_once.py", "-i fit_once.py", "-m fit_once"])
def test_an_error_that_ended_a_script_is_read_until_a_cell_fails(kernel, inspector, how):
    fail(kernel, "{}['before']")
    kernel.cell(SCRIPT)
    kernel.run(f"%run {how}")
    kernel.cell("1")
    found = read(inspector)
    assert (found["type"], found["message"]) == ("ZeroDivisionError", "division by zero")
    assert "cell" not in found
    frames = [(f["where"].rpartition("/")[2], f["line"], f["function"]) for f in own(found)]
    assert frames == [("fit_once.py", 3, "<module>"), ("fit_once.py", 2, "fit")]
    reply = inspector.ask("read_history", limit=2)
    assert [one["status"] for one in reply["result"]["items"]] == ["ok", "ok"]
    assert "read_traceback" in [step["op"] for step in reply["next_steps"]]
    failed = fail(kernel, "{}['after']")
    assert read(inspector)["cell"] == f"In[{failed}]"


def test_what_a_cell_runs_by_the_shell_is_not_taken_for_the_next_cell(start_own_kernel, connect):
    kernel = start_own_kernel()
    with connect("--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values") as agent:
        for code in ("1 / 0", "x ="):
            kernel.run(f"ran = get_ipython().run_cell({code!r})")
            kernel.cell("2 + 2")
            assert {one["status"] for one in history(agent)} == {"ok"}
        assert read(agent) == {"type": None}
        kernel.run("get_ipython().run_cell('1 / 0', store_history=True)")
        assert [one["status"] for one in history(agent, limit=2)] == ["error", "ok"]
        assert read(agent)["cell"] == "In[6]"


def test_an_error_of_a_cell_without_history_is_read_until_a_cell_has_its_number(
    start_own_kernel, connect
):
    kernel = start_own_kernel()

    def run(code):
        kernel._client.execute_interactive(code, store_history=False, output_hook=lambda _: None)

    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        run("x = 0\n1 / x")
        run("2 + 2")
        found = read(agent)
        assert (found["type"], found["cell"]) == ("ZeroDivisionError", "In[1]")
        assert found["frames"][-1]["code"] == "1 / x"
        kernel.cell("3")
        assert read(agent) == {"type": None}


@pytest.mark.parametrize("names", [("post_run_cell",), ("pre_run_cell", "post_run_cell")])
def test_a_cell_that_empties_the_callbacks_of_ipython_has_ended(
    start_own_kernel, connect, until, names
):
    kernel = start_own_kernel()
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:

        def statuses():
            return [one["status"] for one in history(agent)]

        assert statuses() == []
        kernel.cell("1")
        kernel.run(f"for name in {names}: get_ipython().events.callbacks[name].clear()")
        # Its reply comes before the kernel's own code behind it has ended.
        until(lambda: statuses()[-2:] == ["ok", "ok"], "the end of the cell")
        kernel.run("3")
        until(lambda: "running" not in statuses(), "the end of the next cell")


LOOKED_AT_WHILE_BUSY = """
import pathlib, time
print("begun", flush=True)
until = time.monotonic() + 60
while not pathlib.Path({gate!r}).exists():
    assert time.monotonic() < until
"""


def test_both_answer_while_a_cell_runs(kernel, inspector, tmp_path, until):
    failed = fail(kernel, "1 / 0")
    gate = tmp_path / "gate"
    begun = kernel.start(LOOKED_AT_WHILE_BUSY.format(gate=str(gate)))
    running = until(lambda: history(inspector, limit=1, match="monotonic"), "the cell is listed")
    try:
        assert running[0]["status"] == "running"
        assert running[0]["seconds"] > 0
        assert read(inspector)["cell"] == f"In[{failed}]"
    finally:
        gate.touch()
        kernel.finish(begun)
    (ended,) = history(inspector, limit=1)
    assert (ended["n"], ended["status"]) == (running[0]["n"], "ok")
    assert ended["seconds"] >= running[0]["seconds"]


def test_a_cell_that_runs_when_the_agent_comes_is_running(
    start_own_kernel, connect, tmp_path, until
):
    kernel, gate = start_own_kernel(), tmp_path / "gate"
    begun = kernel.start(LOOKED_AT_WHILE_BUSY.format(gate=str(gate)))
    try:
        with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
            (item,) = history(agent)
    finally:
        gate.touch()
        kernel.finish(begun)
    assert (item["n"], item["status"]) == (1, "running")


def test_no_search_of_the_history_confirms_a_key_that_the_server_redacts(start_own_kernel, connect):
    kernel = start_own_kernel()
    key = "ghp_" + "a1B2c3D4e5F6g7H8" * 2
    kernel.cell(f"print('see {key}')")
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        assert "see [redacted]" in history(agent)[0]["code"]
        for guess in ("see ghp_", key[:6], key):
            assert history(agent, match=guess) == [], guess
        assert len(history(agent, match="see ")) == 1


def test_history_is_searched_paged_and_refused_as_lists_are(start_own_kernel, connect):
    kernel = start_own_kernel()
    for n in range(7):
        kernel.cell(f"print('row {n}')\nname_{n} = {n}")
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        whole = agent.ask("read_history", limit=5)
        assert [one["n"] for one in whole["result"]["items"]] == [7, 6, 5, 4, 3]
        (step,) = whole["next_steps"]
        assert [one["n"] for one in history(agent, **step["args"])] == [2, 1]
        assert [one["n"] for one in history(agent, match="name_3 =")] == [4]
        assert agent.ask("read_history", match="nothing")["result"]["total"] == 0
        assert not [one for one in history(agent, outputs=False) if "outputs" in one]
        kernel.cell("8")
        stale = agent.ask("read_history", **step["args"])
        assert stale["error"]["code"] == "stale_cursor"
        (again,) = stale["next_steps"]
        assert agent.ask(again["op"], **again["args"])["ok"]
        for op, args in (("read_history", {"n": 1}), ("read_traceback", {"limit": 1})):
            assert agent.ask(op, **args)["error"]["code"] == "bad_arguments"
        for args in ({"limit": 0}, {"match": 3}, {"outputs": "x"}):
            assert agent.ask("read_history", **args)["error"]["code"] == "bad_arguments"


def test_code_is_as_it_was_typed_and_a_long_output_is_read_on(start_own_kernel, connect):
    kernel = start_own_kernel("%%time\nfor n in range(4):\n    print('x' * 400, end='')")
    kernel.cell("quit(keep_kernel=True)")
    kernel.cell("import sys\nfor n in range(100):\n    sys.stderr.write(f'\\r{n}%')\n'last'")
    kernel.cell("class Dot:\n    def _repr_png_(self):\n        return b'\\x89PNG'\nDot()")
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        reply = agent.ask("read_history")
        dot, bar, first = reply["result"]["items"]
        assert [dot["n"], bar["n"], first["n"]] == [4, 3, 1]
        assert first["code"].startswith("%%time\nfor n")
        assert first["outputs"][0]["stdout"]["$elided"]["size"] > 1600
        assert bar["outputs"] == [{"stderr": "99%"}, {"result": "'last'"}]
        assert dot["outputs"][0]["left_out"] == ["image/png"]
        handle = first["outputs"][0]["stdout"]["$elided"]["handle"]
        assert agent.ask("read_more", handle=handle)["result"]["text"].startswith("x" * 1600)


def test_in_out_and_the_last_values_stay_the_persons(start_own_kernel, connect):
    kernel = start_own_kernel("1 + 1", "'two'")
    shown = "print(In[:3], Out, _, __, len(In), get_ipython().execution_count)"
    before = kernel.cell(shown)
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        assert history(agent)
        assert read(agent) == {"type": None}
        assert agent.ask("list_variables", values=True)["ok"]
    after = kernel.cell(shown)
    assert before.replace("4 4\n", "") == after.replace("5 5\n", "")


def test_after_a_reset_no_cell_is_reported_to_have_ended_well_of_which_nothing_is_kept(
    start_own_kernel, connect
):
    kernel = start_own_kernel("1")
    assert kernel.run("1 / 0").error
    kernel.cell("%reset -f")
    kernel.cell("3")
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        assert [(one["n"], one["status"]) for one in history(agent)] == [
            (4, "ok"),
            (3, "unknown"),
            (2, "error"),  # the exception is still there
            (1, "unknown"),
        ]


def test_a_gate_that_is_shut_shows_neither_op(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        for op in ("read_traceback", "read_history"):
            assert agent.ask("read_op", op=op)["error"]["code"] == "not_found"
            with pytest.raises(Exception, match="Unknown tool"):
                agent.ask(op)


TASKS = {
    "a key that is missing in a module": (
        "shop.total(orders)",
        ["shop.py", '"USD"', "rates[line"],
        [("read_traceback", {}), ("read_traceback", {"locals": True})],
    ),
    "a column that is not there": (
        'frame["prise"].sum()',
        ["'prise'", 'frame["prise"].sum()', '"price"'],
        [("read_traceback", {}), ("get_value", {"path": "frame"})],
    ),
    "a file that a helper opens": (
        "def load(name):\n    return open(f'/nowhere/{name}.csv')\n"
        "def report():\n    return load('sales')\nreport()",
        ["/nowhere/sales.csv", "No such file", '"line":2', "open(f"],
        [("read_traceback", {}), ("read_traceback", {"locals": True})],
    ),
    "a value of the wrong type, behind a cause": (
        "raw = {'n': 'seven'}\ndef parse(row):\n    try:\n        return int(row['n'])\n"
        "    except ValueError as error:\n        raise RuntimeError('bad row') from error\n"
        "parse(raw)",
        ["bad row", "'seven'", "int(row['n'])", '"line":4'],
        [("read_traceback", {}), ("read_history", {"limit": 3})],
    ),
}
"""Cells that fail, what names line and cause, and the calls that an agent makes to find them."""


@pytest.mark.parametrize("task", TASKS)
def test_an_agent_names_line_and_cause_in_few_calls_and_tokens(kernel, connect, task):
    code, named, calls = TASKS[task]
    kernel.cell("import shop, pandas\nprint(frame.describe())")
    fail(kernel, code)
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        texts, steps = [], None
        for op, args in calls:
            assert steps is None or {"op": op, "args": args} in steps  # as the reply before states
            result = agent.call(op, **args)
            assert result.structured_content["ok"]
            texts += [part.text for part in result.content if part.type == "text"]
            steps = result.structured_content.get("next_steps", [])
    stated = "".join(texts).replace('\\"', '"')
    print(f"{task}: {len(calls)} calls, {sum(map(len, texts)) // 4} tokens")
    assert [word for word in named if word not in stated] == []
    assert len(calls) <= 4
    assert sum(map(len, texts)) <= 4 * 3_000
