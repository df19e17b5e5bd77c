"""What an agent with one gate open reaches of the person's kernel by the plays that it writes."""

import json

import pytest

HIDDEN = "Nq4xWm8Tz2LsRv6Y"
SETUP = f"""
import io, json, logging, os, pathlib, subprocess, sys, types
from pathlib import Path
import repl_pair

quiet_plan = {HIDDEN!r}
log = logging.getLogger("job")
log.addHandler(logging.StreamHandler(io.StringIO()))

@repl_pair.story("files")
def files(x: Path = Path("a")):
    return x

class Kind:
    note = {HIDDEN!r}

class Job:
    def __init__(self):
        self.count = 1
        self.options = {{"a": 1}}
        self.log = log
        self.names = globals()
        self.out = sys.stdout
        self.modules = sys.modules
        self.search = sys.path
        self.kind = vars(Kind)
        self.text = io.StringIO({HIDDEN!r})
        self.child = types.SimpleNamespace(task=subprocess)
    @property
    def plan(self):
        return quiet_plan
    def fill(self, count: int = 1):
        self.count = count

repl_pair.story("job", component=Job)

class Opaque:
    asked = 0
    def __init__(self, held):
        self.__dict__ = {{}}
        HELD[id(self)] = held
    def answer(op):
        def method(self, other=None):
            Opaque.asked += 1
            held = HELD[id(self)]
            return getattr(held, op)(*([] if other is None else [other]))
        return method
    for op in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"):
        locals()[op] = answer(op)
    __len__, __iter__, __hash__ = answer("__len__"), answer("__iter__"), lambda self: 7
HELD = {{}}

import dataclasses, enum
@dataclasses.dataclass
class Row:
    n: int
    pin: object
class Colour(enum.Enum):
    RED = "red"

class Vault:
    def __init__(self):
        self.pin = Opaque("4711")
        self.row = Row(1, Opaque("4711"))
        self.rows = [Row(1, 2), {{"a": (Opaque("4711"),)}}]
        self.names = {{Opaque("4711"): 1}}
        self.plain = Row(1, [2, "three", Colour.RED])

repl_pair.story("vault", component=Vault)
"""
GUESSES = [
    ["path_equals", "state.pin", "{guess}"],
    ["compare", "state.pin", "==", "{guess}"],
    ["compare", "state.pin", "!=", "{guess}"],
    ["compare", "state.pin", ">=", "{guess}"],
    ["contains", "state.pin", "{guess}"],
    ["length", "state.pin", "{length}"],
    ["path_equals", "state.row", {"n": 1, "pin": "{guess}"}],
    ["path_equals", "state.row.pin", "{guess}"],
    ["path_equals", "state.rows[1].a", ["{guess}"]],
    ["contains", "state.rows[1].a", "{guess}"],
    ["path_equals", "state.names", {"{guess}": 1}],
    ["contains", "state.names", "{guess}"],
    ["path_matches", "state.pin", {"minLength": "{length}"}],
]
READ = {
    "files": [
        "args.x._flavour.pathmod.os.sys.modules.__main__.quiet_plan",
        "result._flavour",
        "result.parent",
        "args.x.__class__",
    ],
    "job": [
        "state.names.quiet_plan",
        "state.modules.os.environ",
        "state.log.handlers[0].stream",
        "state.log.manager.loggerDict",
        "state.log.name",
        "state.kind.note",
        "state.text",
        "state.out.name",
        "state.child.task.os",
        "state.plan",
        "state.fill.__func__",
        "state.search[0]",
    ],
}
SET = [
    "log.handlers[0].stream",
    "log.disabled",
    "names.quiet_plan",
    'names["new"]',
    "out.name",
    "modules.os",
    'modules["json"]',
    "search[0]",
    "kind.note",
    "child.task.PIPE",
    "plan",
    "text.closed",
]
STATE = """
stream = type(log.handlers[0].stream).__name__
print(json.dumps([quiet_plan, log.disabled, len(log.handlers), stream, "new" in globals(),
    sys.stdout.name, sys.modules["os"] is os, sys.modules["json"] is json, sys.path[0] != "x",
    Kind.note, subprocess.PIPE]))
"""


@pytest.fixture(scope="module")
def writer(kernel, connect):
    kernel.cell(SETUP)
    with connect("--kernel", kernel.path, "--allow", "write") as agent:
        yield agent
    assert HIDDEN.encode() not in agent.record.out


def run(agent, story, *steps):
    """Run a variant of the agent's with these steps; a body that is refused is an answer too."""
    body = {"play": list(steps)}
    taken = agent.ask("register_variant", variant_id=f"{story}/Hostile", body=body)
    if not taken["ok"]:
        return taken["error"]
    return agent.ask("run_variant", variant_id=f"{story}/Hostile")["result"]


def filled(line, guess):
    if isinstance(line, dict):
        return {filled(key, guess): filled(part, guess) for key, part in line.items()}
    if isinstance(line, list):
        return [filled(part, guess) for part in line]
    return {"{guess}": guess, "{length}": len(guess)}.get(line, line)


@pytest.mark.parametrize("line", GUESSES, ids=lambda line: " ".join(map(str, line[:3])))
def test_an_object_that_compares_by_its_own_code_answers_no_guess(writer, kernel, line):
    kernel.cell("Opaque.asked = 0")
    found = [run(writer, "vault", filled(line, guess)) for guess in ("4711", "0", "98765")]
    assert {(one["status"], one["reason"]) for one in found} == {("cannot_run", found[0]["reason"])}
    assert "which code of its class compares" in found[0]["reason"]
    assert kernel.cell("print(Opaque.asked)") == "0\n"


def test_data_is_compared_as_before(writer):
    steps = [
        ["path_equals", "state.plain", {"n": 1, "pin": [2, "three", "RED"]}],
        ["path_equals", "state.rows[0].pin", 2],
        ["length", "state.plain.pin", 3],
        ["contains", "state.plain.pin", "three"],
    ]
    assert run(writer, "vault", *steps)["status"] == "pass"


@pytest.mark.parametrize(
    ("story", "path"), [(story, path) for story, paths in READ.items() for path in paths]
)
def test_an_assertion_of_an_agents_reads_what_is_stored_and_no_code(writer, story, path):
    found = run(writer, story, ["path_equals", path, "no such value"])
    if "code" in found:
        assert "private or a secret" in found["message"]
    else:
        (outcome,) = found["assertions"]
        assert "no " in outcome["reason"]
        assert " in " in outcome["reason"]
        assert outcome["actual"] is None


@pytest.mark.parametrize("path", SET)
def test_a_step_of_an_agents_sets_no_part_of_code_or_of_the_process(writer, kernel, path):
    before = kernel.cell(STATE)
    found = run(writer, "job", ["set", path, "x"])
    assert found.get("code") == "bad_body" or found["status"] in ("error", "cannot_run"), found
    assert kernel.cell(STATE) == before
    assert json.loads(before)[0] == HIDDEN


def test_a_step_of_an_agents_sets_and_reads_the_data_of_the_component(writer):
    steps = [
        ["set", "count", 5],
        ["set", "options.b", 2],
        ["path_equals", "state.count", 5],
        ["path_equals", "state.options.b", 2],
        ["path_equals", "state.options", {"a": 1, "b": 2}],
    ]
    assert run(writer, "job", *steps)["status"] == "pass"


@pytest.mark.parametrize("pattern", ["^" + "a*" * 40 + "b", "(a|aa)+$b", "(a?){64}b"])
def test_a_pattern_of_an_agents_leaves_the_kernel_with_the_person(writer, kernel, pattern):
    args = {"args": {"x": "a" * 2_000}, "play": [["rendered_text", {"match": pattern}]]}
    writer.ask("register_variant", variant_id="files/Slow", body=args)
    assert writer.ask("run_variant", variant_id="files/Slow", timeout_s=20)["ok"]
    assert kernel.cell("print('here')") == "here\n"
