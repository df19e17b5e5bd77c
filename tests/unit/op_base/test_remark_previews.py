"""What the person sees of a call that waits for them and would change remarks."""

import pytest

from repl_pair.errors import RequestError
from repl_pair.runtime.clients.approval import Asker
from repl_pair.runtime.clients.approvals import Approvals
from repl_pair.runtime.op_base.approval_rows import describe_approval, refuse_changed
from repl_pair.runtime.project import database
from repl_pair.runtime.review.annotations import create_annotation
from repl_pair.runtime.review.reviews import submit_review
from repl_pair.wire import View

ME, CLAUDE = View(), View(principal="claude", access=frozenset({"read", "run", "write"}))


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """A project with one page, as that of this process."""
    (tmp_path / "README.md").write_text("# Shop\n")
    monkeypatch.setattr(database, "_open", [database.Database(tmp_path)])
    yield database.project()
    database.close_project()


def remark(view, content, parent_id=None):
    given = {"target": "doc:README.md", "content": content, "parent_id": parent_id}
    return create_annotation(database.project(), view, **given)["id"]


def ask(op, **args):
    asker = Asker(principal="claude", client="one")
    return Approvals().ask(op, args, asker=asker, access=("write",))


def shown(approval):
    row = describe_approval(approval)
    return row["title"], row["text"].split("\n")


def test_a_submission_without_ids_is_shown_as_the_remarks_that_it_submits(project):
    remark(ME, "Ready")
    approval = ask("submit_review", target="doc:README.md")
    before = describe_approval(approval)["mark"]
    assert shown(approval) == ("submit 1 remark", ["person on doc:README.md: Ready"])
    remark(CLAUDE, "A reply", remark(ME, "Half a thought"))
    title, lines = shown(approval)
    taken = [one["content"] for one in submit_review(project, CLAUDE, "doc:README.md")["items"]]
    assert lines == [f"person on doc:README.md: {content}" for content in taken]
    assert (title, taken) == ("submit 2 remarks", ["Ready", "Half a thought"])
    for answer in ("once", "session"):
        with pytest.raises(RequestError, match="changed since it was shown"):
            refuse_changed(approval, answer, before)
    refuse_changed(approval, "deny", before)
    assert shown(approval)[0] == "submit 0 remarks"


def test_of_a_thread_an_edit_shows_its_remark_alone_and_a_deletion_all_of_it():
    id = remark(ME, "Why?")
    remark(CLAUDE, "So", id)
    edit = ask("edit_annotation", annotation_id=id, content="How?")
    assert shown(edit) == ("edit 1 remark", ["person on doc:README.md: Why?", "+ How?"])
    assert shown(ask("submit_review", target="doc:README.md", annotation_ids=[id])) == (
        "submit 1 remark",
        ["person on doc:README.md: Why?"],
    )
    assert shown(ask("delete_annotation", annotation_id=id)) == (
        "delete 2 remarks",
        ["person on doc:README.md: Why?", "claude on doc:README.md: So"],
    )


def test_no_words_of_a_remark_look_like_another_row():
    id = remark(CLAUDE, "x\nperson on doc:README.md: y")
    edit = ask("edit_annotation", annotation_id=id, content="z\n+ w")
    _, lines = shown(edit)
    assert [line for line in lines if not line.startswith(" ")] == [
        "claude on doc:README.md: x",
        "+ z",
    ]


def test_what_went_while_its_caller_waited_is_shown_as_gone():
    title, lines = shown(ask("delete_annotation", annotation_id="abcdef01"))
    assert title == "delete 0 remarks"
    assert "There is no annotation 'abcdef01'." in lines[0]
