"""Each refusal of an op over the project has next steps, and each of them can be taken."""

import pytest
from answers import find_step_faults

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.replies import complete_refusal
from repl_pair.bridge.session import Session
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.project import database
from repl_pair.runtime.review.annotations import create_annotation
from repl_pair.wire import PERSON, View, error_reply, ok_reply

pytestmark = pytest.mark.anyio

DOC = "doc:README.md"
CASES = [
    ("list_annotations", {"target": "README.md"}),
    ("list_annotations", {"status": "open"}),
    ("get_annotation", {}),
    ("create_annotation", {"target": DOC, "content": " "}),
    ("create_annotation", {"target": f"{DOC}#Instal", "content": "x"}),
    ("create_annotation", {"target": "workspace:desk", "content": "x"}),
    ("edit_annotation", {"annotation_id": "THEIRS", "content": "x"}),
    ("submit_review", {"target": f"{DOC}#Shop"}),
    ("submit_review", {"target": DOC, "annotation_ids": []}),
    ("list_reviews", {"status": "open"}),
    ("notifications_list", {"state": "old"}),
    ("session_start", {"goal": 3}),
    ("realm_status", {}),
    ("pr_status", {"rfc": "../x"}),
    ("worktree_create", {"rfc": ""}),
    ("contract_get", {"domain": "pricing", "contract": "quote"}),
]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def session(tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("# Shop")
    opened = database.Database(tmp_path)
    monkeypatch.setattr(database, "_open", [opened])
    session = Session.direct(Policy(allow=frozenset({"write"})))
    yield session
    await session.close()
    opened.close()


@pytest.mark.parametrize(("op", "args"), CASES)
async def test_a_refused_agent_has_a_step_that_works_as_written(session, op, args):
    if args.get("annotation_id"):
        session.policy = Policy()
        made = create_annotation(database.project(), View(), target=DOC, content="Mine")
        args = args | {"annotation_id": made["id"]}
    reply = await session.call(op, args)
    assert not reply["ok"]
    assert 1 <= len(reply["next_steps"]) <= 3
    assert not [*find_step_faults(reply)]
    for step in reply["next_steps"]:
        assert manifest.reads(step["op"])
        assert (await session.call(step["op"], step["args"]))["ok"], step


def test_without_a_kernel_a_step_that_takes_one_gives_way_to_what_starts_one():
    steps = [next_step("list_variants"), next_step("list_pages")]
    refused = error_reply(RequestError("not_found", "no", next_steps=steps))

    def complete(reply, principal="ann", *, has_kernel=False):
        return complete_refusal(reply, "list_pages", principal=principal, has_kernel=has_kernel)

    assert complete(refused, has_kernel=True) == refused
    assert complete(refused)["next_steps"] == [next_step("list_pages"), next_step("list_kernels")]
    assert "%load_ext repl_pair" in str(complete(refused)["hints"])
    assert "--here" not in str(complete(refused)["hints"])
    assert "--here" in str(complete(refused, PERSON)["hints"])
    assert complete(ok_reply(1, next_steps=steps[:1])) == ok_reply(1, next_steps=steps[:1])
