"""Assertions as they are asked and answered over a link."""

import pytest

from repl_pair.wire import REDACTED, View

pytestmark = pytest.mark.anyio

LOGIN = """
import repl_pair
from dataclasses import dataclass
from typing import Annotated
from repl_pair import check
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.registry.origin import agent_origin

@dataclass
class Told:
    user: str
    password: str

@repl_pair.assertion
def pin_is(settled, pin):
    return settled.args["pin"] == pin

@repl_pair.story("login", args={"user": "ann", "pin": "p7-x"})
def login(user: str, pin: Annotated[str, repl_pair.Sensitive]):
    return Told(user, "p4ss")

PLAY = [
    check.compare("args.pin", "<", "q"),
    [pin_is, "p7-x"],
    check.result_equals({"user": "bob", "password": "q0-z"}),
    check.rendered_text("nobody"),
    check.path_equals("result.password", "[redacted]"),
]
repl_pair.variant("login/Mine", play=PLAY)
with entering_from(agent_origin("agent")):
    for at, line in enumerate(PLAY):
        repl_pair.variant(f"login/Theirs{at}", play=[line])
"""


async def test_no_outcome_shows_an_agent_what_is_secret(link):
    await link.define(LOGIN)
    ran = await link.ask("run_variant", variant_id="login/Mine")
    read = await link.ask("read_assertions", variant_id="login/Mine")
    failed = await link.ask("read_failures", variant_id="login/Mine")
    assert ran["result"]["status"] == "fail"
    seen = ran["result"]["assertions"]
    assert read["result"]["assertions"] == seen
    assert [o["passed"] for o in seen] == [True, True, False, False, True]
    assert [o["payload"] for o in seen] == [
        ["args.pin", "<", REDACTED],
        [REDACTED],
        [{"user": "bob", "password": REDACTED}],
        ["nobody"],
        ["result.password", REDACTED],
    ]
    assert seen[2]["reason"] == "result.user: expected 'bob', got 'ann'"
    assert seen[3]["actual"].endswith(f"Told(user='ann', password='{REDACTED}')")
    text = str([ran, read, failed])
    assert [word for word in ("p7-x", "p4ss", "q0-z") if word in text] == []


async def test_a_play_that_an_agent_wrote_is_no_oracle(link):
    await link.define(LOGIN)
    answers = [await link.run(f"login/Theirs{at}") for at in range(5)]
    assert [a["status"] for a in answers] == ["cannot_run"] * 4 + ["pass"]
    assert [a["total"] for a in answers] == [0, 0, 0, 0, 1]
    assert answers[0]["reason"] == (
        "compare looks at args.pin, where a secret stands: only the person's play may."
    )
    assert [word for word in ("p7-x", "p4ss", "q0-z") if word in str(answers)] == []


async def test_assertions_are_listed_with_what_they_take_and_mean(link):
    await link.define(LOGIN)
    await link.define("""
@repl_pair.assertion
def is_near(settled, path, expected, *, within=0.1):
    "`[path, n, {within}]`: the number at the path\\n    is near."
""")
    found = await link.get("list_assertions")
    assert len(found["canonical"]) == 18
    assert found["canonical"][0] == {
        "id": "path_equals",
        "payload": "[path, expected]",
        "meaning": "the value at the path equals the expected one, by content.",
    }
    near = {
        "id": "is_near",
        "payload": "[path, expected, {within}]",
        "meaning": "the number at the path is near.",
    }
    pin = {"id": "pin_is", "payload": "[pin]", "meaning": ""}
    assert (found["registered"], found["total"]) == ([near, pin], 2)
    first = await link.get("list_assertions", limit=1)
    assert first["registered"] == [near]
    assert await link.get("list_assertions", limit=1, cursor=first["cursor"]) == {
        "registered": [pin],
        "total": 2,
    }
    hidden = await link.get("list_assertions", view=View(principal="agent", tier="ops"))
    assert (len(hidden["canonical"]), hidden["registered"], hidden["total"]) == (18, [], 0)
