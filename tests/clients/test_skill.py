"""The agent's guide: each recipe, as it is printed, run by mcporter; and each op, documented."""

import json
import re
import sys

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.cli.setup.recipes import RECIPES

OPS = {entry["name"]: entry for entry in manifest.load() if not entry.get("internal")}
BROKEN, CHANGED, MENDED = "sum(prices)", "sum(prices) * 1", "sum(prices) + 1"
STORIES = """
import repl_pair
from repl_pair import check

@repl_pair.story("shop.total")
def total(prices: list[float]) -> float:
    return {}

IS_14 = check.path_equals("result", 14)
repl_pair.variant("shop.total/Two", args={{"prices": [4, 9]}}, play=[IS_14])
repl_pair.variant("shop.total/None", args={{"prices": []}})
"""
SHELL = """
mcporter() {{ command mcporter --config "$CONFIG" "$@" --output json; }}
{}
"""


@pytest.fixture(scope="module")
def guide(run):
    """The guide, as it is printed."""
    printed = run(sys.executable, "-m", "repl_pair", "skill")
    assert printed.returncode == 0, printed.stderr
    return printed.stdout


@pytest.fixture(scope="module")
def kernel_of_project(tmp_path_factory, kernel):
    """A kernel in a project with a page."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    (folder / "README.md").write_text("# Shop\n\nThe total is a sum.\n")
    environment = {"JUPYTER_RUNTIME_DIR": str(kernel.path.parent)}
    with scratch_kernel(cwd=folder, environment=environment) as own:
        yield own


@pytest.fixture(scope="module")
def file(config, kernel, kernel_of_project, home):
    """What mcporter starts the server at that kernel by."""
    text = config().read_text().replace(str(kernel.path), str(kernel_of_project.path))
    path = home / "skill.json"
    path.write_text(text)
    return path


class Desk:
    """The kernel of a project, an agent that calls by mcporter, and the person."""

    def __init__(self, run, kernel, file):
        self.run, self.kernel, self.file = run, kernel, file
        self.folder = kernel.run("import os; os.getcwd()").value.strip("'")

    def agent(self, line, **values):
        """Run a line of the guide in a shell; gives the answer."""
        ran = self.run("bash", "-c", SHELL.format(line), CONFIG=str(self.file), **values)
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        envelope = json.loads(ran.stdout)
        assert envelope["ok"], (line, envelope)
        return envelope

    def command(self, *words):
        """Run a command of the person's in the project."""
        ran = self.run(sys.executable, "-m", "repl_pair", *words, cwd=self.folder)
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        return ran.stdout

    def person(self, op, **args):
        """Call an op as the person; gives its result."""
        words = ("op", op, "--json", json.dumps(args), "--kernel", self.kernel.path)
        return json.loads(self.command(*words))["result"]

    def write_total(self, code):
        """Run the cell with the component."""
        assert self.kernel.run(STORIES.format(code)).error is None


@pytest.fixture
def desk(clients, run, kernel_of_project, file):
    desk = Desk(run, kernel_of_project, file)
    desk.write_total(BROKEN)
    return desk


def commands(guide, title):
    """Return the lines for a shell of a recipe."""
    section = guide.partition(f"### {title}\n")[2].partition("\n### ")[0]
    return re.search(r"```sh\n(.*?)\n```", section, re.DOTALL)[1].splitlines()


def read(answer, path):
    """Return what stands in an answer at a path such as `result.items[0].id`."""
    for step in re.findall(r"\w+", path):
        answer = answer[int(step) if step.isdecimal() else step]
    return answer


def follow(lines, desk):
    """Run a recipe; gives the answers. What is no call mends the component."""
    answers, values = [], {}
    for line in lines:
        taken = re.fullmatch(r"# ([A-Z]+): (\S+)", line)
        if taken:
            values[taken[1]] = read(answers[-1], taken[2])
        elif line.startswith("#"):
            desk.write_total(MENDED)
        else:
            answers.append(desk.agent(line, **values))
    return answers


def change_component(desk):
    desk.agent("mcporter call pair.run_variants")
    desk.write_total(CHANGED)


def remark_as_person(desk):
    target = {"target": "doc:README.md"}
    made = desk.person("create_annotation", **target, content="Which currency?")
    desk.person("submit_review", **target, annotation_ids=[made["id"]])
    return made["id"]


def remark_as_agent(desk):
    line = "mcporter call pair.create_annotation target=doc:README.md 'content=Never mind.'"
    return desk.agent(line)["result"]["id"]


def keep_server(desk):
    document = json.loads(desk.file.read_text())
    document["mcpServers"]["pair"]["lifecycle"] = "keep-alive"
    desk.file = desk.file.with_name("kept.json")
    desk.file.write_text(json.dumps(document))


def join_realm(desk):
    desk.command("realm", "init", "shops", "..")
    desk.command("realm", "join", "..")
    desk.command("realm", "bind", "shop", "--role", "provider")


def check_drift(_desk, answers, _begun):
    drifted, ran, failures, explained = [answer["result"] for answer in answers]
    assert [item["id"] for item in drifted["items"]] == ["shop.total/None", "shop.total/Two"]
    assert ran["status"] == "fail"
    assert [item["variant_id"] for item in failures["items"]] == ["shop.total/Two"]
    assert explained["variant_id"] == "shop.total/Two"


def check_proof(_desk, answers, _begun):
    _, before, after, passing = [answer["result"] for answer in answers]
    assert [before["status"], after["status"], after["total"]] == ["fail", "pass", 1]
    assert passing["failed"] == []


def check_reply(desk, _answers, begun):
    thread = desk.person("get_annotation", annotation_id=begun)
    assert thread["annotation"]["status"] == "resolved"
    assert [reply["author"] for reply in thread["replies"]] == ["agent"]


def check_review(desk, answers, _begun):
    reviews = desk.person("list_reviews", target="doc:README.md", status="completed")
    assert answers[-1]["result"]["id"] in [review["id"] for review in reviews["items"]]
    assert [note["status"] for note in answers[4]["result"]["annotations"]] == ["submitted"]


def check_cleaning(desk, answers, begun):
    assert answers[-1]["result"]["deleted"] == begun
    left = desk.person("list_annotations")["items"]
    assert begun not in [item["id"] for item in left]


def check_session(desk, answers, _begun):
    begun, *_, done = [answer["result"] for answer in answers]
    assert begun["goal"] == "Fix the totals"
    assert done["seconds"] >= 0
    ended = desk.person("get_session", session_id=begun["id"])
    assert ended["status"] == "stopped"


def check_realm(_desk, answers, _begun):
    status, checked, _ = [answer["result"] for answer in answers]
    assert len(status["repos"]) == 1
    assert checked["valid"] is True


CASES = {
    "Find and run what drifted": (change_component, check_drift),
    "Prove a change": (None, check_proof),
    "Reply to annotations": (remark_as_person, check_reply),
    "Run a full review cycle": (None, check_review),
    "Clean up your own annotations": (remark_as_agent, check_cleaning),
    "Keep a work session": (keep_server, check_session),
    "Check the realm": (join_realm, check_realm),
}
"""What is done before a recipe, and what is there after it."""


@pytest.mark.parametrize("title", CASES)
def test_a_recipe_works_as_it_is_printed(guide, desk, title):
    prepare, check = CASES[title]
    try:
        begun = prepare and prepare(desk)
        answers = follow(commands(guide, title), desk)
    finally:
        desk.run("mcporter", "--config", str(desk.file), "daemon", "stop")
    check(desk, answers, begun)


def test_every_recipe_stands_in_the_guide_in_both_forms(guide):
    assert re.findall(r"^### ([A-Z].*)$", guide, re.MULTILINE) == [*RECIPES]
    for title, steps in RECIPES.items():
        called = re.findall(r"^mcporter call pair\.(\w+)", "\n".join(commands(guide, title)), re.M)
        assert called == [step.op for step in steps if step.op]
        assert all(f"`{op}(" in guide for op in called)


def test_every_op_is_documented_once_with_its_parameters(guide):
    tools = guide.partition("\n## Tools\n")[2]
    documented = dict(re.findall(r"^- `(\w+)\((.*)\)` \((?:\w+)\): .", tools, re.MULTILINE))
    assert documented.keys() == OPS.keys()
    assert tools.count("\n- `") == len(OPS)
    for name, takes in documented.items():
        assert all(parameter in takes for parameter in OPS[name]["input_schema"]["properties"])


def test_the_guide_is_a_skill_without_addresses_tokens_and_other_ways_in(guide):
    _, head, _ = guide.split("---\n", 2)
    slots = dict(line.split(": ", 1) for line in head.splitlines())
    assert slots["name"] == "repl-pair"
    assert 50 < len(slots["description"]) <= 1024
    assert not re.search(r"https?:|\bcurl\b|\btokens?\b|localhost", guide, re.IGNORECASE)


def test_the_guide_names_the_server_as_it_is_asked_to(run):
    printed = run(sys.executable, "-m", "repl_pair", "skill", "--name", "shop").stdout
    assert "mcporter call shop.list_annotations" in printed
    assert "call pair." not in printed
