"""The person's remarks in the terminal, over the project in the working directory."""

from types import SimpleNamespace

import pytest

from repl_pair.runtime.project import database
from repl_pair.runtime.review.annotations import create_annotation
from repl_pair.wire import View

TARGET = "variant:shop.double/Good"


@pytest.fixture(autouse=True)
def kept(project, monkeypatch):
    """The database of this project, which this test opens, and a page in it."""
    (project / "README.md").write_text("# Shop")
    monkeypatch.setattr(database, "_open", [])
    yield
    for opened in database._open:
        opened.close()


@pytest.fixture
def reviews(pair, envelopes):
    """Runs a command of `reviews`; gives its envelope, or with `text` what it printed."""

    def run(*words, text=False, code=0):
        ran = pair("reviews", *words, "--here", *(() if text else ("--json",)))
        assert ran.exit_code == code, ran.output
        return ran if text else envelopes(ran.stdout)[-1]

    return run


def test_a_remark_goes_from_draft_to_deleted_in_the_terminal(project, reviews):
    assert reviews(text=True).stderr.splitlines()[-1] == "none"
    id = reviews("add", TARGET, "Four?", "--quote", '"n": 2')["result"]["id"]
    other = reviews("add", "story:shop.key", "Rename it.", "--section", "args")["result"]["id"]
    reply = reviews("reply", id, "Two, I mean.")["result"]
    assert (reply["parent_id"], reply["target"]) == (id, TARGET)
    assert reviews("reply", reply["id"], "Sure?")["result"]["parent_id"] == id
    submitted = reviews("submit", TARGET)["result"]
    listed = reviews(text=True).stdout.splitlines()
    assert listed[0].split() == ["id", "status", "author", "target", "replies", "words"]
    assert listed[1].split() == [other, "draft", "person", "story:shop.key", "Rename", "it."]
    assert listed[2].split() == [id, "replied", "person", TARGET, "2", "Four?"]
    (replied,) = reviews("--status", "replied")["result"]["items"]
    assert (replied["id"], replied["replies"]) == (id, 2)
    shown = reviews("show", id, text=True).stdout
    assert 'quote: "n": 2' in shown
    assert f"review_id: {submitted['review_id']}" in shown
    assert shown.index("Four?") < shown.index("Two, I mean.") < shown.index("Sure?")
    assert reviews("edit", id, "Five?")["result"]["content"] == "Five?"
    assert reviews("resolve", id)["result"]["status"] == "resolved"
    ids = {words: listed_ids(reviews(*words)) for words in ((), ("--all",), ("--status", "draft"))}
    assert ids == {(): [other], ("--all",): [other, id], ("--status", "draft"): [other]}
    assert listed_ids(reviews("--target", TARGET, "--all")) == [id]
    assert reviews("reopen", id)["result"]["status"] == "submitted"
    assert reviews("complete", submitted["review_id"])["result"]["status"] == "completed"
    gone = reviews("delete", id)["result"]
    assert gone == {"deleted": id, "replies": 2, "review_deleted": True}


def test_a_project_of_pages_alone_is_remarked_on(project, reviews):
    (project / "stories_shop.py").unlink()
    made = reviews("add", "doc:README.md", "Shorter.")["result"]
    assert listed_ids(reviews()) == [made["id"]]
    assert "There is no story" in reviews("add", "story:shop.key", "x", text=True, code=2).stderr
    (project / "stories_shop.py").write_text("import repl_pair\nrepl_pair.get_story('gone')\n")
    assert "stories_shop.py" in reviews("list", text=True, code=2).stderr


def listed_ids(envelope):
    return [one["id"] for one in envelope["result"]["items"]]


def test_more_threads_than_a_page_holds_are_all_listed(project, reviews):
    opened = database.Database(project)
    for n in range(205):
        create_annotation(opened, View(), target="doc:README.md", content=f"No. {n}")
    opened.close()
    assert len(listed_ids(reviews())) == 205


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("add", "variant:shop.double/Goo", "x"), "Nearest: shop.double/Good"),
        (("add", "nothing", "x"), "doc:PATH#HEADING"),
        (("add", TARGET, " "), "content is empty"),
        (("show", "00000000"), "no annotation '00000000'"),
        (("reply", "00000000", "x"), "no annotation '00000000'"),
        (("submit", TARGET), "waits to be submitted"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(project, reviews, words, part):
    assert part in reviews(*words, text=True, code=2).stderr


def test_what_agents_wrote_is_text_in_the_terminal(project, reviews):
    opened, agent = database.Database(project), View(principal="claude")
    made = create_annotation(
        opened, agent, target="doc:README.md", content="plain\x1b[31m\u202ered\nmore"
    )
    opened.close()
    for words in ((), ("show", made["id"])):
        printed = reviews(*words, text=True).stdout
        assert "\x1b" not in printed
        assert "\u202e" not in printed
        assert r"plain\x1b[31m\u202ered" in printed


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_a_terminal_states_how_many_replies_go_and_asks(
    project, reviews, pair, monkeypatch, answer, left
):
    id = reviews("add", TARGET, "Four?")["result"]["id"]
    reviews("reply", id, "Yes.")
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(
        "repl_pair.cli.reviews.sys", SimpleNamespace(stdin=terminal, stdout=terminal)
    )
    asked = []

    def confirm(question, **_):
        asked.append(question)
        return answer == "y"

    monkeypatch.setattr("click.confirm", confirm)
    ran = pair("reviews", "delete", id, "--here")
    assert asked == ["Delete it with 1 reply?"]
    assert ran.exit_code == 1 - (answer == "y")
    assert len(listed_ids(reviews())) == left


def test_only_a_kernel_of_this_project_answers_for_its_remarks(tmp_path, start, pair, envelopes):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyproject.toml").touch()
    (elsewhere / "README.md").write_text("# Shop")
    add = ("reviews", "add", "doc:README.md", "--json")
    start(elsewhere)
    start(elsewhere)
    (here,) = envelopes(pair(*add, "Without a kernel").stdout)
    assert here["kernel"]["id"] == "here"
    own = start()
    (there,) = envelopes(pair(*add, "In its kernel").stdout)
    assert there["kernel"]["id"] == own.path.stem.removeprefix("kernel-")
    listed = envelopes(pair("reviews", "--json").stdout)[-1]
    assert {one["content"] for one in listed["result"]["items"]} == {
        "Without a kernel",
        "In its kernel",
    }
    assert not (elsewhere / ".repl_pair").exists()
