"""The agent's guide: each recipe, as it is printed, run by mcporter; and each op, documented."""

import json
import re
import sys

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.cli.recipes import RECIPES

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


@pytest.fixture
def agent(run, clients, file):
    """Runs a line of the guide in a shell; gives the answer: `agent(line, ID="…")`."""

    def call(line, **values):
        ran = run("bash", "-c", SHELL.format(line), CONFIG=str(file), **values)
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        envelope = json.loads(ran.stdout)
        assert envelope["ok"], (line, envelope)
        return envelope

    return call


@pytest.fixture
def person(run, kernel_of_project):
    """Calls an op as the person; gives its result."""

    def call(op, **args):
        words = ("op", op, "--json", json.dumps(args), "--kernel", kernel_of_project.path)
        ran = run(sys.executable, "-m", "repl_pair", *words)
        return json.loads(ran.stdout)["result"]

    return call


def commands(guide, title):
    """Return the lines for a shell of a recipe."""
    section = guide.partition(f"### {title}\n")[2].partition("\n### ")[0]
    return re.search(r"```sh\n(.*?)\n```", section, re.DOTALL)[1].splitlines()


def read(answer, path):
    """Return what stands in an answer at a path such as `result.items[0].id`."""
    for step in re.findall(r"\w+", path):
        answer = answer[int(step) if step.isdecimal() else step]
    return answer


def follow(lines, agent, act):
    """Run a recipe; gives the answers. `act` does what is no call."""
    answers, values = [], {}
    for line in lines:
        taken = re.fullmatch(r"# ([A-Z]+): (\S+)", line)
        if taken:
            values[taken[1]] = read(answers[-1], taken[2])
        elif line.startswith("#"):
            act()
        else:
            answers.append(agent(line, **values))
    return answers


def nothing(_agent, _person, _run_cell):
    """Begin with nothing."""


def changed_component(agent, _person, run_cell):
    agent("mcporter call pair.run_variants")
    run_cell(CHANGED)


def remark_of_person(_agent, person, _run_cell):
    target = {"target": "doc:README.md"}
    made = person("create_annotation", **target, content="Which currency?")
    person("submit_review", **target, annotation_ids=[made["id"]])
    return made["id"]


def remark_of_agent(agent, _person, _run_cell):
    line = "mcporter call pair.create_annotation target=doc:README.md 'content=Never mind.'"
    return agent(line)["result"]["id"]


def check_drift(answers, _begun, _person):
    drifted, ran, failures, explained = [answer["result"] for answer in answers]
    assert [item["id"] for item in drifted["items"]] == ["shop.total/None", "shop.total/Two"]
    assert ran["status"] == "fail"
    assert [item["variant_id"] for item in failures["items"]] == ["shop.total/Two"]
    assert explained["variant_id"] == "shop.total/Two"


def check_proof(answers, _begun, _person):
    _, before, after, passing = [answer["result"] for answer in answers]
    assert [before["status"], after["status"], after["total"]] == ["fail", "pass", 1]
    assert passing["failed"] == []


def check_reply(_answers, begun, person):
    thread = person("get_annotation", annotation_id=begun)
    assert thread["annotation"]["status"] == "resolved"
    assert [reply["author"] for reply in thread["replies"]] == ["agent"]


def check_review(answers, _begun, person):
    reviews = person("list_reviews", target="doc:README.md", status="completed")
    assert answers[-1]["result"]["id"] in [review["id"] for review in reviews["items"]]
    assert [note["status"] for note in answers[4]["result"]["annotations"]] == ["submitted"]


def check_cleaning(answers, begun, person):
    assert answers[-1]["result"]["deleted"] == begun
    left = person("list_annotations")["items"]
    assert begun not in [item["id"] for item in left]


CASES = {
    "Find and run what drifted": (changed_component, check_drift),
    "Prove a change": (nothing, check_proof),
    "Reply to remarks": (remark_of_person, check_reply),
    "Run a full review cycle": (nothing, check_review),
    "Clean up your own remarks": (remark_of_agent, check_cleaning),
}
"""What is there before a recipe, and what is there after it."""


@pytest.mark.parametrize("title", CASES)
def test_a_recipe_works_as_it_is_printed(guide, kernel_of_project, agent, person, title):
    def run_cell(total):
        assert kernel_of_project.run(STORIES.format(total)).error is None

    prepare, check = CASES[title]
    run_cell(BROKEN)
    begun = prepare(agent, person, run_cell)
    answers = follow(commands(guide, title), agent, act=lambda: run_cell(MENDED))
    check(answers, begun, person)


def test_every_recipe_stands_in_the_guide_in_both_forms(guide):
    assert re.findall(r"^### ([A-Z].*)$", guide, re.MULTILINE) == [r.title for r in RECIPES]
    for recipe in RECIPES:
        called = re.findall(
            r"^mcporter call pair\.(\w+)", "\n".join(commands(guide, recipe.title)), re.M
        )
        assert called == [step.op for step in recipe.steps if step.op]
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
