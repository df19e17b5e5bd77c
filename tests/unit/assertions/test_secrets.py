"""Assertions that look at what is secret: hidden from an agent, refused where one wrote them."""

import asyncio
import warnings
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import pydantic
import pytest

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.op_base.run_answers import answer_run
from repl_pair.runtime.registry.origin import agent_origin
from repl_pair.runtime.registry.registry import RegistrationWarning
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.wire import REDACTED, View

KEY = "zX91-kkQw-77Lm"
PASSWORD = "p4ss"
"""Too short to be replaced wherever it turns up: it is known by its place alone."""


@dataclass
class Told:
    user: str
    note: str
    password: str
    n: int = 3


def login(user: str, pin: Annotated[str, Sensitive], key: Annotated[str, Sensitive]):
    print("with", key)
    if user == "fails":
        raise ValueError(f"no {key}")
    return Told(user, f"key {key}", PASSWORD)


@pytest.fixture(autouse=True)
def story():
    repl_pair.story("login", component=login, args={"user": "ann", "pin": "w4-k", "key": KEY})

    @repl_pair.assertion
    def pin_is(settled, pin):
        return repl_pair.Verdict(passed=settled.args["pin"] == pin, reason=f"tried {pin}")

    @repl_pair.assertion
    def logged(settled, word):
        return word in settled.logs

    @repl_pair.assertion
    def peeks(settled, pin):
        return vars(settled)["args"]["pin"] == pin


def what_leaves(record):
    return send_out(answer_run(record, detail="full"), sensitive=record.sensitive).value


ALL = (REDACTED,) * 3
FULL = {"user": "ann", "note": f"key {REDACTED}", "password": REDACTED, "n": 3}
HIDDEN = [
    (check.path_equals("args.pin", "w4-k"), ["args.pin", REDACTED]),
    (check.path_equals("args.pin", "q8-y"), ["args.pin", REDACTED]),
    (check.path_equals("args.pin.x", "q8-y"), ["args.pin.x", REDACTED]),
    (check.path_equals("result.password", "q8-y"), ["result.password", REDACTED]),
    (check.compare("args.pin", "<", "2"), ["args.pin", "<", REDACTED]),
    (check.length("args.pin", 4), ["args.pin", REDACTED]),
    (check.path_equals("args", {"pin": "q8-y"}), ["args", {"pin": REDACTED}]),
    (check.compare("args", "!=", {"pin": "q8-y"}), ["args", "!=", {"pin": REDACTED}]),
    (check.approx("args.pin", 1), ["args.pin", REDACTED]),
    (check.path_matches("args.pin", {"pattern": "^1"}), ["args.pin", REDACTED]),
    (["pin_is", "w4-k"], [REDACTED]),
    (["peeks", "w4-k"], [REDACTED]),
]


@pytest.mark.parametrize(("line", "payload"), HIDDEN, ids=lambda value: str(value[:2]))
def test_what_an_outcome_states_of_a_secret_place_does_not_leave(line, payload):
    repl_pair.variant("login/It", play=[line])
    record = repl_pair.run("login/It")
    left = what_leaves(record)
    (seen,) = left["assertions"]
    assert seen["payload"] == payload
    if line[1] != "args":
        assert seen["expected"] in (REDACTED, None)
        assert seen["actual"] in (REDACTED, None)
        assert seen["reason"] in (
            "",
            f"{line[1]}: a secret stands there",
            "args: a secret stands there",
        )
    text = str([seen, left.get("reason")])
    assert not any(word in text for word in ("w4-k", "q8-y", PASSWORD, KEY))
    assert record.assertions[0].payload == line[1:]
    assert record.status in ("pass", "fail")


@pytest.mark.parametrize(
    "line",
    [
        check.result_equals({"user": "bob"}),
        check.result_equals(5),
        check.rendered_text("something"),
        check.compare("result", "==", 7),
        check.contains("result", "x"),
        check.path_equals("result.user", "bob"),
        check.path_matches("result", {"properties": {"password": {"maxLength": 1}}}),
    ],
    ids=lambda line: line[0],
)
def test_a_secret_beside_what_is_asked_leaves_in_no_text(line):
    repl_pair.variant("login/It", play=[line])
    record = repl_pair.run("login/It")
    assert record.status == "fail"
    assert PASSWORD not in str(what_leaves(record))


def test_what_stands_beside_a_secret_is_not_taken_for_one():
    repl_pair.story("beside", component=login, args={"pin": "w4-k", "key": KEY})
    line = check.path_equals("args", {"user": "plain-user-7"})
    repl_pair.variant("beside/It", args={"user": "plain-user-7"}, play=[line])
    record = repl_pair.run("beside/It")
    assert what_leaves(record)["assertions"][0]["actual"] == {
        "user": "plain-user-7",
        "pin": REDACTED,
        "key": REDACTED,
    }
    assert send_out("plain-user-7").value == "plain-user-7"


def test_an_outcome_that_looks_at_no_secret_states_all():
    play = [check.path_equals("result.user", "bob"), check.result_equals(FULL), ["logged", "x"]]
    repl_pair.variant("login/It", play=play)
    left = what_leaves(repl_pair.run("login/It"))
    assert left["reason"] == "path_equals: result.user: expected 'bob', got 'ann'"
    assert [o["reason"] for o in left["assertions"]] == [
        "result.user: expected 'bob', got 'ann'",
        "",
        "",
    ]
    assert left["assertions"][1]["actual"] == FULL
    assert left["assertions"][2]["payload"] == ["x"]


MARKED = [
    (check.path_equals("args.pin", REDACTED), True),
    (check.path_equals("args.key", REDACTED), True),
    (check.path_equals("result.password", REDACTED), True),
    (check.path_equals("result.note", f"key {REDACTED}"), True),
    (check.path_equals("stdout", f"with {REDACTED}\n"), True),
    (check.path_equals("args", {"user": "ann", "pin": REDACTED, "key": REDACTED}), True),
    (check.result_equals(FULL), True),
    (check.compare("args.pin", "==", REDACTED), True),
    (check.contains("result.note", REDACTED), True),
    (check.path_equals("args.user", REDACTED), False),
    (check.path_equals("result.n", REDACTED), False),
    (check.path_equals("result.note", REDACTED), False),
    (check.path_equals("result.note", f"kee {REDACTED}"), False),
    (check.result_equals({**FULL, "user": REDACTED}), False),
    (check.result_equals({**FULL, "user": "bob"}), False),
    (check.contains("result.user", REDACTED), False),
]


@pytest.mark.parametrize(("line", "passed"), MARKED, ids=lambda value: str(value))
def test_redacted_is_what_would_be_redacted_and_nothing_else(line, passed):
    repl_pair.variant("login/It", play=[line])
    (found,) = repl_pair.run("login/It").assertions
    assert found.passed is passed


def test_the_marker_itself_as_plain_text_is_no_secret():
    repl_pair.variant("login/It", args={"user": REDACTED}, play=MARKED[9][:1])
    (found,) = repl_pair.run("login/It").assertions
    assert not found.passed


def by_agent(*play, **slots):
    with entering_from(agent_origin("agent")):
        repl_pair.variant("login/Theirs", play=list(play), **slots)
    return repl_pair.run("login/Theirs")


FORBIDDEN = [
    *(line for line, _ in HIDDEN),
    check.contains("result.note", "key"),
    check.compare("result.note", ">", "a"),
    check.path_matches("result", {"properties": {"password": {"pattern": "^p"}}}),
    check.result_equals({**FULL, "password": PASSWORD}),
    check.result_equals({**FULL, "note": "x"}),
    check.rendered_text(match="p4"),
    check.path_equals("stdout", "x"),
    check.path_equals("result.password", PASSWORD),
]


@pytest.mark.parametrize("line", FORBIDDEN, ids=lambda line: str(line[:2]))
def test_an_agents_play_that_looks_at_a_secret_cannot_run(line):
    record = by_agent(line)
    assert (record.status, record.total) == ("cannot_run", 0)
    assert record.reason.startswith(f"{line[0]} looks at ")
    assert "where a secret stands: only the person's play may." in record.reason
    assert not any(word in str(what_leaves(record)) for word in (PASSWORD, KEY))


def test_an_agents_play_shows_no_secret_by_an_exception():
    for match in ("^no z", "^no a"):
        record = by_agent(check.raises(ValueError, match=match), args={"user": "fails"})
        assert record.total == 0
        assert record.status == "error"
    assert by_agent(step.wait(0), check.path_equals("result.user", "ann")).status == "pass"


def test_an_agents_play_shows_no_secret_by_what_was_warned_of():
    def careless():
        warnings.warn(f"the key is {KEY}", UserWarning, stacklevel=1)

    repl_pair.story("careless", component=careless)
    for match in ("is z", "is .", None):
        with entering_from(agent_origin("agent")):
            repl_pair.variant("careless/It", play=[check.warns(UserWarning, match=match)])
        record = repl_pair.run("careless/It")
        assert (record.status, record.total) == ("cannot_run", 0)


class Refused(Exception):
    def __str__(self):
        return f"no {KEY}"


def refuse():
    raise Refused


def test_an_agents_play_shows_no_secret_by_the_text_that_an_exception_makes_up():
    repl_pair.story("refuse", component=refuse)
    with entering_from(agent_origin("agent")):
        repl_pair.variant("refuse/It", play=[check.raises(Refused, match="^no z")])
    record = repl_pair.run("refuse/It")
    assert (record.status, record.total) == ("error", 0)


def test_an_agents_play_shows_no_secret_by_what_was_dispatched_or_emitted():
    class Vault:
        def open(self, password: str = ""):
            repl_pair.effect("opened", password=KEY)

    repl_pair.effect.impl("opened")(lambda **_: None)
    repl_pair.story("vault", component=Vault)
    for line in (
        check.effect_emitted("opened", password="guess"),
        check.effect_emitted("opened"),
    ):
        with entering_from(agent_origin("agent")):
            repl_pair.variant("vault/It", play=[step.dispatch("open"), line])
        record = repl_pair.run("vault/It")
        assert (record.status, record.total) == ("cannot_run", 0)


@pytest.mark.parametrize(("line", "passed"), MARKED, ids=str)
def test_an_agents_play_may_expect_the_marker_for_all_that_is_secret(line, passed):
    record = by_agent(line)
    if line[0] == "contains" and passed:
        assert record.status == "cannot_run"
    else:
        assert record.status == ("pass" if passed else "fail")


@pytest.mark.parametrize("line", [check.no_secret(), check.no_warnings(), check.matches_snapshot()])
def test_what_compares_with_nothing_that_is_reported_may_look_everywhere(line):
    assert by_agent(line).total == 1


def test_an_assertion_under_a_built_in_name_is_no_built_in():
    with pytest.warns(RegistrationWarning):
        repl_pair.assertion("no_warnings")(lambda settled: settled.args["pin"] == "w4-k")
    assert by_agent(["no_warnings"]).status == "cannot_run"


def test_a_play_of_the_persons_that_an_agent_extends_is_not_taken_over():
    repl_pair.variant("login/Mine", play=[check.path_equals("args.pin", "w4-k")])
    assert by_agent(extends="login/Mine").total == 0


def test_no_secret_names_each_place_and_no_secret():
    repl_pair.variant("login/It", play=[check.no_secret()])
    (found,) = repl_pair.run("login/It").assertions
    assert found.actual == ["result.note", "result.password", "stdout"]
    assert found.reason == "a secret stands at result.note, result.password, stdout"
    repl_pair.effect.impl("opened")(lambda **_: None)
    repl_pair.story("emits", component=lambda: repl_pair.effect("opened", password=PASSWORD))
    repl_pair.variant("emits/It", play=[check.no_secret()])
    (found,) = repl_pair.run("emits/It").assertions
    assert found.actual == ["effects[0].payload.password"]
    repl_pair.story("clean", component=lambda: {"note": REDACTED})
    repl_pair.variant("clean/It", play=[check.no_secret()])
    assert repl_pair.run("clean/It").status == "pass"


@dataclass
class Safe:
    pin: Annotated[str, Sensitive]
    n: int = 0


class Pair(NamedTuple):
    pin: Annotated[str, Sensitive]
    n: int = 0


class Model(pydantic.BaseModel):
    pin: Annotated[str, Sensitive]
    n: int = 0


DECLARED = [
    ["length", "result.pin", 4],
    ["path_equals", "result.pin", "p9-x"],
    ["path_equals", "result.pin", "q8-y"],
    ["path_equals", "result.pin.x", "p9-x"],
    ["contains", "result.pin", "p9"],
    ["compare", "result.pin", "<", "5"],
    ["path_matches", "result.pin", {"const": "p9-x"}],
    ["path_equals", "result", {"pin": "p9-x", "n": 0}],
    ["path_equals", "result", {"pin": "p9-x", "n": 1}],
    ["result_equals", {"pin": "p9-x", "n": 0}],
    ["path_matches", "result", {"properties": {"pin": {"const": "p9-x"}}}],
]


async def all_that_an_agent_reads(variant_id):
    link, view = DirectLink(), View(principal="agent", access=frozenset({"read", "run"}))
    ops = ("run_variant", "read_assertions", "read_failures")
    try:
        args = [{"variant_id": variant_id} for _ in ops] + [
            {"variant_id": variant_id, "detail": "full"}
        ]
        seen = [
            await link.request(op, given, view=view)
            for op, given in zip((*ops, "run_variant"), args, strict=True)
        ]
    finally:
        await link.close()
    assert all(one["ok"] for one in seen)
    return [one["result"] for one in seen]


@pytest.mark.parametrize("kind", [Safe, Model, Pair])
@pytest.mark.parametrize("line", DECLARED, ids=str)
def test_a_field_that_its_class_declares_secret_is_one_for_every_assertion(line, kind):
    repl_pair.story("safe", component=lambda: kind(pin="p9-x"))
    repl_pair.variant("safe/Mine", play=[line])
    left = str(asyncio.run(all_that_an_agent_reads("safe/Mine")))
    assert not [word for word in ("p9-x", "q8-y", "'p9'", "'5'", ", 4]") if word in left]
    with entering_from(agent_origin("agent")):
        repl_pair.variant("safe/Theirs", play=[line])
    assert repl_pair.run("safe/Theirs").status == "cannot_run"


def test_the_person_still_sees_what_a_declared_field_holds():
    repl_pair.story("safe", component=lambda: Safe(pin="p9-x"))
    repl_pair.variant("safe/Mine", play=[["path_equals", "result.pin", "p9-x"]])
    record = repl_pair.run("safe/Mine")
    assert record.status == "pass"
    assert record.assertions[0].actual == "p9-x"


def test_the_marker_may_be_expected_of_a_declared_field():
    repl_pair.story("safe", component=lambda: Safe(pin="p9-x"))
    with entering_from(agent_origin("agent")):
        repl_pair.variant("safe/Theirs", play=[["path_equals", "result.pin", REDACTED]])
    assert repl_pair.run("safe/Theirs").status == "pass"


def test_a_field_of_a_named_tuple_is_declared_by_its_index_too():
    repl_pair.story("pair", component=lambda: Pair(pin="p9-x"))
    for key in ("pin", 0, -2, "0"):
        with entering_from(agent_origin("agent")):
            repl_pair.variant("pair/Theirs", play=[["length", ["result", key], 4]])
        assert repl_pair.run("pair/Theirs").status == "cannot_run"
