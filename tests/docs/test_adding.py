"""What the table "To add a …" of ARCHITECTURE.md promises: one of each is added, and it appears.

A copy of the package gets one row of each kind, in the files that the table names and in no others.
Its programs then run as they are. What anyone may add from outside is added by the public API.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repl_pair.bridge.scratch_kernel import scratch_kernel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
TABLES = Path(__file__).parent / "tables.py"
SECTION = PAGE.partition("## To add\n")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", SECTION, re.MULTILINE))

OP = '''

class Colour(TypedDict):
    """A colour."""

    id: str


class Colours(TypedDict):
    """All colours."""

    items: list[Colour]
    total: int


@op(access="read", lane="inline", toolset="story")
def list_colours(call: Call) -> Colours:
    """List the colours."""
    return {"items": [{"id": "red"}], "total": 1}
'''
ASSERTION = '''

def is_even(view: Any, path: Any) -> Verdict:
    """`[path]`: the value at the path is an even number."""
    return judge_at(view, path, 0, lambda actual, where: None if actual % 2 == 0 else where)
'''
BUILDER = '''

def is_even(path: Path) -> Step:
    """Expect an even number at a path."""
    return ["is_even", path]
'''
STEP = '''

def multiply(factor: float) -> Step:
    """Multiply the number in the live object."""
    return ["multiply", factor]
'''
ACT = """

async def _multiply(frame: Frame, words: list[Any]) -> None:
    frame.live["n"] *= words[0]


"""
FINDING = """

def _colours() -> Iterator[Fault]:
    for entry in entries_of("colour"):
        yield fault_of(entry, "pale-colour", "it is pale.", "Take another.")


"""
VIEW = '''from collections.abc import Mapping
from typing import Any

from repl_pair.panels.base.view import View


class ColoursView(View[Any]):
    """Colours."""

    name = "colours"
    title = "Colours"

    def start(self) -> Mapping[str, Any]:
        return {"colours": ["red"]}
'''
SCRIPT = """
async function draw({ root, start }) {
  root.append(h("p", {}, "The colours: ", start.colours.join(" ")));
}
"""
RECIPE = """
    "Choose a colour": (step("Read them", "list_colours"),),
"""
PROMPT = """
        Prompt("paint", "Paint", "Steps to a colour.", write_paint, ()),
"""
PROMPT_TEXT = '''

async def write_paint(caller: PromptCaller) -> Text:
    """Write how a thing is painted."""
    return "Paint it.", [caller.write("Read the colours", "list_colours")]
'''
LEAF = """
    Fraction: Leaf(
        "a fraction as text such as '1/3'",
        takes=(str,),
        read=Fraction,
        schema={"type": "string"},
        to_json=str,
        made_of=(b"fraction", lambda value: (str(value),)),
        marker=_as_text("fraction", str, Fraction),
        python=lambda value: _by_class(value, "fractions"),
        show=show_exactly,
    ),
"""


def at_end(text):
    return r"\Z", text


def row_of(constant, text):
    """Put a row behind the line that opens a table."""
    return rf"(?m)^{constant}\b[^\n]*[\[({{]\n", text


ADDITIONS = {
    "op": {"runtime/ops/assertions.py": [at_end(OP)]},
    "kind": {"runtime/registry/model.py": [row_of("_BODIES", '    "colour": (WORDS, Tag),\n')]},
    "assertion": {
        "runtime/assertions/at_path.py": [at_end(ASSERTION)],
        "runtime/shipped.py": [
            row_of(
                "ASSERTIONS",
                '    "is_even": ("assertions.at_path", "[path]", _PATH),\n',
            )
        ],
        "runtime/authoring/check.py": [at_end(BUILDER)],
    },
    "step": {
        "runtime/registry/steps.py": [
            row_of(
                "STEPS",
                '    "multiply": StepSignature(words="a factor", fits=lambda it: len(it) == 1),\n',
            )
        ],
        "runtime/running/playing.py": [
            (r"(?m)\n\n(?=_ACTS\b)", ACT),
            row_of("_ACTS", '    "multiply": _multiply,\n'),
        ],
        "runtime/authoring/step.py": [at_end(STEP)],
    },
    "phase": {"runtime/running/phases.py": [row_of("PHASES", '    "greet": apply_decorators,\n')]},
    "leaf type of args": {
        "runtime/values/leaves.py": [
            (r"(?m)^from decimal import [^\n]*\n", "from fractions import Fraction\n"),
            row_of("LEAVES", LEAF),
        ]
    },
    "panel": {
        "panels/colours/__init__.py": [at_end("")],
        "panels/colours/view.py": [at_end(VIEW)],
        "panels/colours/colours.js": [at_end(SCRIPT)],
        "panels/builtin.py": [
            (
                r"(?m)^from repl_pair.panels.canvas.view import [^\n]*\n",
                "from repl_pair.panels.colours.view import ColoursView\n",
            ),
            row_of("VIEWS", "    ColoursView,\n"),
        ],
    },
    "command of the palette": {
        "panels/shell/commands.py": [
            row_of("COMMANDS", '    "paint": Command(title="Paint", act=run_focus),\n')
        ]
    },
    "option of the pytest plugin": {
        "pytest_plugin/options.py": [
            row_of("OPTIONS", '    "--pair-colour": {"help": "A colour."},\n')
        ]
    },
    "finding of `repl-pair lint`": {
        "runtime/linting/checks.py": [
            (r"(?m)\n\n(?=_CHECKS\b)", FINDING),
            row_of("_CHECKS", "    _colours,\n"),
        ]
    },
    "MCP client": {
        "cli/setup/hosts.py": [
            row_of(
                "HOSTS",
                '    "emacs": Host(title="Emacs", key="servers", project=".emacs.json",\n'
                "                  user=_vscode_file),\n",
            )
        ]
    },
    "recipe of `repl-pair skill`": {"cli/setup/recipes.py": [row_of("RECIPES", RECIPE)]},
    "URI of a resource": {
        "mcp_server/uris.py": [
            row_of("ROWS", '    _row("pair://colours", "list_colours", (), "Colours."),\n')
        ]
    },
    "prompt": {
        "mcp_server/prompts.py": [
            (r"(?m)^from repl_pair.mcp_server.prompt_texts import \(\n", "    write_paint,\n"),
            (r"(?m)^PROMPTS = \{\n.*\n.*\(\n", PROMPT),
        ],
        "mcp_server/prompt_texts.py": [at_end(PROMPT_TEXT)],
    },
    "error code": {"errors.py": [row_of("CODES", '    "too_pale": "a colour is too pale",\n')]},
    "pattern of the byte gate": {
        "mcp_server/gate/patterns.py": [
            row_of("PATTERNS", '    Pattern(text=r"(colour-[0-9]{8})"),\n')
        ]
    },
}
"""What is added: by row of the table, file, and what goes behind which pattern."""
_NO_ROW = "a check is code of its own at a place that its sort decides; the module's tests hold it"
EXCEPTIONS = {
    "rule about what an agent may bring into a run": _NO_ROW,
    "rule about what an agent may register": _NO_ROW,
    "rule about what is a secret": _NO_ROW,
}
"""The rows of the table of which none is added here, and why."""
STORIES = """
import repl_pair as rp
from repl_pair import check, step

rp.tag("red")
rp.story("paint.mix", component=lambda n: {"n": n}, tags=["red"])
rp.variant("paint.mix/Two", args={"n": 1}, play=[step.multiply(2), check.is_even("state.n")])
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Make a folder with a copy of the package that has one addition of each sort."""
    home = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "repl_pair", home / "repl_pair", ignore=ignored)
    for files in ADDITIONS.values():
        for name, edits in files.items():
            path = home / "repl_pair" / name
            path.parent.mkdir(exist_ok=True)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for pattern, addition in edits:
                text, count = re.subn(pattern, lambda m, add=addition: m[0] + add, text, count=1)
                assert count == 1, (name, pattern)
            path.write_text(text, encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def package(home):
    """Return what runs Python with the copy, its generated files renewed, beside a story file."""
    project = home / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    (project / "stories_paint.py").write_text(STORIES)
    run = runner(home, project)
    run("-m", "repl_pair.bridge.build_manifest", "--write")
    return run


def ask_server(home, method, **params):
    """Return what a server answers to a request; its input stays open until then."""
    info = {"protocolVersion": "2025-06-18", "capabilities": {}}
    info["clientInfo"] = {"name": "t", "version": "1"}
    frames = (
        {"id": 1, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
        {"id": 2, "method": method, "params": params},
    )
    words = ("-m", "repl_pair", "mcp", "--here", "--toolsets", "story")
    with subprocess.Popen(
        [sys.executable, *words],
        cwd=home / "project",
        env={**os.environ, "PYTHONPATH": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        for frame in frames:
            print(json.dumps({"jsonrpc": "2.0", **frame}), file=server.stdin, flush=True)
        replies = map(json.loads, server.stdout)
        reply = next(each for each in replies if each.get("id") == 2)
        server.stdin.close()
        assert server.wait(100) == 0
    return reply["result"]


def runner(home, project):
    def run(*words, code=0):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def listed(package, kind):
    reply = json.loads(package("-m", "repl_pair", "list", kind, "--here", "--json"))
    return reply["result"]


def test_each_row_of_the_table_is_added_or_excepted():
    assert {*ROWS} - {"a …"} == {*ADDITIONS, *EXCEPTIONS}


@pytest.mark.parametrize("name", ADDITIONS)
def test_the_table_names_the_files_that_an_addition_touches(name):
    unnamed = [
        file
        for file in ADDITIONS[name]
        if not any(f"`{place}`" in ROWS[name] for place in (file, *parents(file)))
    ]
    assert unnamed == []


def parents(file):
    return [f"{parent}/" for parent in Path(file).parents]


def test_an_op_is_a_tool_a_command_and_a_row_of_the_docs(home, package):
    assert listed(package, "colours")["items"] == [{"id": "red"}]
    ops = json.loads(package("-m", "repl_pair", "ops", "--toolsets", "story", "--here", "--json"))
    assert "list_colours" in [op["name"] for op in ops["result"]["items"]]
    tools = {tool["name"]: tool for tool in ask_server(home, "tools/list")["tools"]}
    assert tools["list_colours"]["description"] == "List the colours."
    tables = f"import runpy\ntables = runpy.run_path({str(TABLES)!r})\n"
    rows = package("-c", f"{tables}print(tables['ops_table']())")
    assert "| `list_colours` | read | story | List the colours. |" in rows
    answers = package("-c", f"{tables}print(tables['answers_list']())")
    assert "\n- `list_colours`: `{items: [{id}], total: integer}`\n" in answers


def test_a_resource_and_a_prompt_are_listed_and_answered_and_a_recipe_is_in_the_guide(
    home, package
):
    uris = [row["uri"] for row in ask_server(home, "resources/list")["resources"]]
    assert "pair://colours" in uris
    (content,) = ask_server(home, "resources/read", uri="pair://colours")["contents"]
    assert '"red"' in content["text"]
    assert "paint" in [row["name"] for row in ask_server(home, "prompts/list")["prompts"]]
    (message,) = ask_server(home, "prompts/get", name="paint")["messages"]
    assert "list_colours()" in message["content"]["text"]
    assert "Choose a colour" in package("-m", "repl_pair", "skill")


def test_an_assertion_and_a_step_are_listed_and_run_in_plays_and_under_pytest(package):
    rows = {row["id"]: row for row in listed(package, "assertions")["canonical"]}
    assert rows["is_even"]["payload"] == "[path]"
    package("-m", "repl_pair", "run", "--here")
    assert "1 passed" in package("-m", "pytest", "-p", "no:cacheprovider")


def test_a_step_stands_in_an_agents_play_and_hands_data_to_no_story_that_takes_none(package):
    source = """
import repl_pair as rp
from repl_pair.errors import ReplPairError
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.wire import View

def mix(n: int = 1):
    return {"n": n}

rp.story("paint.mix", component=mix)
rp.story("paint.closed", component=mix, agent_overrides=False)
view = View(principal="agent", access=frozenset({"read", "run", "write"}))

def write(id, factor):
    body = {"play": [["multiply", factor], ["is_even", "state.n"]]}
    register = TABLE.find("register_variant", view).fn
    try:
        register(variant_id=id, body=body, call=Call(view=view))
        print(rp.run(id).status)
    except ReplPairError as error:
        print(error.message)

write("paint.mix/Agents", 2)
write("paint.mix/Code", {"api_key": "x"})
write("paint.closed/Agents", 2)
"""
    ran, secret, refused = package("-c", source).splitlines()
    assert ran == "pass"
    assert "api_key is a secret: only the person sets it" in secret
    assert (
        "step 'multiply': story 'paint.closed' is registered with agent_overrides=False" in refused
    )


def test_a_phase_is_in_the_record_of_each_run(package):
    reply = json.loads(package("-m", "repl_pair", "run", "--here", "--json").splitlines()[0])
    assert "greet" in [phase["phase"] for phase in reply["result"]["phases"]]


def test_a_leaf_type_is_an_arg_of_a_variant_that_is_run_stored_and_identified(package):
    source = """
from fractions import Fraction
import repl_pair as rp

@rp.story("paint.share")
def share(part: Fraction) -> Fraction:
    return part * 2

rp.variant("paint.share/Third", args={"part": Fraction(1, 3)})
rp.variant("paint.share/Text", args={"part": "1/3"})
print(rp.run("paint.share/Third").result, rp.run("paint.share/Text").result)
print(rp.to_data("variant", "paint.share/Third")["args"])
print(rp.snapshot_identity("paint.share/Third").content_hash[:4])
"""
    results, data, identity = package("-c", source).splitlines()
    assert results == "2/3 2/3"
    assert "fraction" in data
    assert identity.startswith("rp1:")


def test_a_kind_is_in_the_registry_and_its_checkpoints_and_lint_finds_what_is_wrong_there(package):
    source = """
from repl_pair.runtime.linting.checks import find_faults
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.tier_names import shown_text
from repl_pair.runtime.registry.model import Origin, Tag
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import View
undo = REGISTRY.checkpoint()
before = REGISTRY.revision
REGISTRY.register("colour", "red", Tag(), origin=Origin(key="cell", label="In[1]", line=1))
assert REGISTRY.revision > before
assert [fault.code for fault in find_faults()] == ["pale-colour"]
print(shown_text(Call(view=View(tier="shop")), "It is colour 'red'."))
undo()
print(list(REGISTRY.ids("colour")))
"""
    assert package("-c", source) == "It is colour 'hidden'.\n[]\n"


OPEN = """
from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.panels.base.opening import open_entry
opened = open_entry(repl_pair.registry.find("panel", "colours"), PanelContext(Focus()))
[opened.start, "The colours: " in opened._esm]
"""


def test_a_panel_is_listed_and_opened_with_its_script_and_a_command_is_in_the_palette(
    package, home
):
    with scratch_kernel(environment={"PYTHONPATH": str(home)}) as kernel:
        assert kernel.run("import repl_pair\nshell = repl_pair.show()").error is None
        titles = kernel.run("[row['title'] for row in shell.view.on_commands()]").value
        panels = kernel.run("list(repl_pair.registry.ids('panel'))").value
        opened = kernel.run(OPEN).value
    assert "Paint" in titles
    assert "colours" in panels
    assert opened == "[{'colours': ['red']}, True]"


def test_an_option_is_in_the_help_of_pytest_and_a_client_in_that_of_init(package):
    assert "--pair-colour" in package("-m", "pytest", "--help")
    assert "emacs" in package("-m", "repl_pair", "init", "--help")
    entry = json.loads(package("-m", "repl_pair", "init", "emacs", "--print"))
    assert "pair" in entry["servers"]


def test_an_error_code_can_be_raised_and_a_pattern_is_found(package):
    source = """
from repl_pair.errors import RequestError
from repl_pair.mcp_server.gate.patterns import find_secrets
print(RequestError("too_pale", "Red is too pale.").code)
print(list(find_secrets(b"take colour-12345678 away")))
"""
    assert package("-c", source) == "too_pale\n[(5, 20)]\n"


OUTSIDE = """
import repl_pair as rp
from repl_pair import check

@rp.assertion("is_odd")
def is_odd(view, path):
    "`[path]`: the value at the path is odd."
    value = view.at(path)
    return rp.Verdict(passed=value % 2 == 1)

rp.panel("spending", title="Spending", placement="right", render=lambda: "12 EUR")
rp.mode("night", args={"n": 3})
rp.tag("blue")
rp.loader("one")(lambda: 1)
rp.decorator("still", kind="frame_setup", patch={"n": 1})
rp.story("paint.mix", component=lambda n: n, tags=["blue"], modes=["night"])
rp.variant("paint.mix/One", args={"n": rp.ref("one")}, play=[["is_odd", "result"]])
"""


def test_what_anyone_may_add_from_outside_is_in_every_list_and_in_pytest(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "stories_paint.py").write_text(OUTSIDE)
    run = runner(ROOT, tmp_path)
    assert [row["id"] for row in listed(run, "assertions")["registered"]] == ["is_odd"]
    for kind, id in (
        ("panels", "spending"),
        ("modes", "night"),
        ("tags", "blue"),
        ("decorators", "still"),
    ):
        assert id in [row["id"] for row in listed(run, kind)["items"]], kind
    run("-m", "repl_pair", "run", "--here")
    assert "2 passed" in run("-m", "pytest", "-p", "no:cacheprovider")


def test_a_kind_of_the_users_is_in_the_registry_until_it_is_undone():
    source = """
import repl_pair
from repl_pair.runtime.registry.ids import WORDS
from repl_pair.runtime.registry.model import Kind, Tag
undo = repl_pair.registry.add_kind(Kind(name="colour", grammar=WORDS, body=Tag))
print(list(repl_pair.registry.ids("colour")))
undo()
print("colour" in repl_pair.registry.kinds)
"""
    assert runner(ROOT, ROOT)("-c", source) == "[]\nFalse\n"
