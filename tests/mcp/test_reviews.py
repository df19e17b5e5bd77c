"""Remarks through the real server: what takes write access is asked for, or refused."""

import pytest
from bounds import BOUND_S

SETUP = """
import repl_pair
from pathlib import Path
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.op_base.approval_rows import preview_call
from repl_pair.runtime.project.database import project
from repl_pair.runtime.review.annotations import create_annotation, list_annotations
from repl_pair.wire import View
Path("README.md").write_text("# Shop")

def remark(*said):
    "Remark as the person; the later ones are replies."
    id = None
    for words in said:
        made = create_annotation(
            project(), View(), target="doc:README.md", content=words, parent_id=id
        )
        id = id or made["id"]
    print(id)

def answer(word):
    [one] = QUEUE.pending()
    print(one.access, preview_call(one)["text"])
    QUEUE.answer(one.handle, word)

def contents():
    print([one["content"] for one in list_annotations(project(), View(), limit=50)[0]])
"""


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


@pytest.fixture
def remark(kernel):
    """Let the person remark, and reply to it; gives the id. After the test no remark is left."""
    yield lambda *text: kernel.cell(f"remark(*{text!r})").strip()
    kernel.cell("with project().writing() as c: c.execute('DELETE FROM annotations')")


@pytest.fixture(scope="module")
def asking(kernel, connect):
    with connect("--kernel", kernel.path, "--ask", "write") as agent:
        yield agent


@pytest.mark.parametrize(("word", "via"), [("once", "run_op"), ("deny", "itself")])
def test_where_write_asks_the_person_is_asked_for_exactly_this_deletion(
    kernel, asking, until, remark, word, via
):
    id = remark(f"Mine {word} {via}", "And more")
    one = {"annotation_id": id}
    if via == "itself":
        started = asking.start("delete_annotation", **one)
    else:
        started = asking.start("run_op", op="delete_annotation", args=one)
    until(lambda: kernel.cell("print(len(QUEUE.pending()))") == "1\n", "what waits")
    shown = kernel.cell(f"answer({word!r})")
    reply = started.result(BOUND_S).structured_content
    left = asking.ask("list_annotations")["result"]["total"]
    assert "('write',)" in shown
    assert f"person on doc:README.md: Mine {word} {via}" in shown
    assert "person on doc:README.md: And more" in shown
    if word == "once":
        gone = {"deleted": id, "replies": 1, "review_deleted": False}
        assert (reply["result"], left) == (gone, 0)
    else:
        assert (reply["error"]["code"], left) == ("approval_denied", 2)


def test_where_write_is_closed_nobody_is_asked_and_where_it_is_open_it_is_done(
    kernel, connect, remark
):
    id = remark("Mine")
    calls = [
        ("edit_annotation", {"annotation_id": id, "content": "Changed"}),
        ("submit_review", {"target": "doc:README.md", "annotation_ids": [id]}),
        ("delete_annotation", {"annotation_id": id}),
    ]
    with connect("--kernel", kernel.path, "--toolsets", "review") as agent:
        refused = [agent.ask(op, **args)["error"] for op, args in calls]
        refused.append(agent.ask("run_op", op=calls[2][0], args=calls[2][1])["error"])
        listed = {tool.name for tool in agent.tools()}
    assert {error["code"] for error in refused} == {"forbidden"}
    assert kernel.cell("print(QUEUE.pending()); contents()") == "[]\n['Mine']\n"
    assert {"list_annotations", "submit_review", "list_pages"} <= listed
    with connect("--kernel", kernel.path, "--allow", "write") as agent:
        assert [agent.ask(op, **args)["ok"] for op, args in calls] == [True] * 3
    assert kernel.cell("contents()") == "[]\n"


KEY = "kx7Qw9Zr2Lm4Tp8Vb3Nc"


def test_no_secret_in_the_place_of_a_remark_is_answered_or_confirmed(kernel, connect, remark):
    kernel.cell(f"api_key = {KEY!r}; Path('keys.md').write_text('# Key {KEY}')")
    make = "print(create_annotation(project(), View(), content='Why?', {})['id'])"
    place = f"target='doc:keys.md#Key {KEY}', section='Key {KEY}'"
    id, _ = kernel.cell(make.format(place)).strip(), remark("Another")

    def ask_about(agent, key):
        """Give what the server answers to calls that name a key, without the name itself."""
        name = f"Key {key}"
        calls = [
            ("list_annotations", {"section": name}),
            ("list_annotations", {"section": name[:8]}),
            ("list_annotations", {"target": f"doc:keys.md#{name}"}),
            ("list_reviews", {"target": f"doc:keys.md#{name}"}),
            ("submit_review", {"target": f"doc:keys.md#{name}"}),
            (
                "create_annotation",
                {"target": f"doc:keys.md#{name}", "content": "R", "parent_id": id},
            ),
        ]
        replies = [agent.ask(op, **args) for op, args in calls]
        shown = [reply.get("error") or reply["result"]["total"] for reply in replies]
        return [str(one).replace(key, "KEY") for one in shown]

    with connect("--kernel", kernel.path) as agent:
        [shown] = agent.ask("list_annotations", target="doc:keys.md")["result"]["items"]
        assert ask_about(agent, KEY) == ask_about(agent, "dw2Gh5Jk8Rt3Yf6Mx9Pa")
        assert agent.ask("list_annotations", section="key [")["result"]["total"] == 1
        reply = {"target": shown["target"], "content": "Done.", "parent_id": id}
        made = agent.ask("create_annotation", **reply)["result"]
        thread = agent.ask("get_annotation", annotation_id=id)["result"]
        assert [made["target"], made["section"]] == ["doc:keys.md#Key [redacted]", "Key [redacted]"]
        assert KEY not in str((made, thread, agent.ask("list_annotations")))
        guess = {"target": "doc:keys.md", "content": "Mine.", "section": "", "quote": KEY}
        assert agent.ask("create_annotation", **guess)["result"]["quote"] == KEY
    kernel.cell("Path('keys.md').unlink()")


def test_a_cell_that_changes_the_folder_after_the_attach_leaves_agents_in_the_project(
    start_own_kernel, connect, tmp_path
):
    for name, private in (("shop", 'private = ["pay"]'), ("beside", "")):
        (tmp_path / name / "pay").mkdir(parents=True)
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.repl_pair]\n{private}\n")
        (tmp_path / name / "pay" / "rise.md").write_text("# Rise")
        (tmp_path / name / f"{name}.md").write_text("# Page")
    kernel = start_own_kernel(f"import os; os.chdir({str(tmp_path / 'shop')!r})")
    kernel.cell("%load_ext repl_pair\n%pair attach")
    kernel.cell(f"os.chdir({str(tmp_path / 'beside')!r})")
    with connect("--kernel", kernel.path) as agent:
        assert [page["path"] for page in agent.ask("list_pages")["result"]["items"]] == ["shop.md"]
