"""Ways round a secret that is declared: by position, by another story, by what a tier hides."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest

import repl_pair
from repl_pair import Sensitive
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.ipython import user_namespace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.copies import copy_state
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.wire import REDACTED, View

OPEN = frozenset({"read", "run", "write", "inspect"})


def ask(op: str, *, tier: str | None = None, **args: Any) -> Any:
    """Call an op as an agent does; gives what leaves the kernel, of a run all of it."""
    if op in ("run_variant", "preview_variant"):
        args = {"detail": "full"} | args

    async def request() -> Any:
        link = DirectLink()
        try:
            view = View(principal="agent", tier=tier, access=OPEN)
            return await link.request(op, args, view=view)
        finally:
            await link.close()

    return asyncio.run(request())


# --- fields of named tuples


class Pair(NamedTuple):
    pin: Annotated[str, Sensitive]
    n: int = 0


class Named(Pair):
    note = "an heir keeps what its base declares"


class Holder(NamedTuple):
    pair: Pair
    pins: list[Annotated[str, Sensitive]]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (Pair("p9-x", 1), {"pin": REDACTED, "n": 1}),
        (Named("p9-x", 1), {"pin": REDACTED, "n": 1}),
        (Holder(Pair("p9-x"), ["p9-x"]), {"pair": {"pin": REDACTED, "n": 0}, "pins": REDACTED}),
        ([{"a": Pair("p9-x")}], [{"a": {"pin": REDACTED, "n": 0}}]),
    ],
    ids=str,
)
def test_a_declared_field_of_a_named_tuple_leaves_as_that_of_a_dataclass(value, left):
    assert send_out(value).value == left
    assert send_out(copy_state(value)).value == left


def test_a_declared_field_of_a_named_tuple_is_known_elsewhere_too():
    assert send_out([Pair("correct-horse-9"), "a correct-horse-9"]).value[1] == f"a {REDACTED}"


def open_pair(pair: Pair) -> int:
    return len(pair.pin)


def test_a_named_tuple_that_is_given_by_position_has_the_same_secrets():
    repl_pair.story("opens", component=open_pair)
    repl_pair.variant("opens/Row", args={"pair": ["p9-x", 1]}, play=[["path_equals", "result", 4]])
    heard = ask("run_variant", variant_id="opens/Row")
    assert heard["result"]["status"] == "pass"
    assert heard["result"]["effective_args"] == {"pair": {"pin": REDACTED, "n": 1}}
    assert "p9-x" not in str((heard, ask("get_variant", variant_id="opens/Row")))


def test_an_agent_gives_no_declared_field_by_position():
    repl_pair.story("opens", component=open_pair)
    body = {"args": {"pair": ["p9-x", 1]}}
    text = ask("register_variant", variant_id="opens/Guess", body=body)
    assert "args.pair[0] is a secret" in text["error"]["message"]
    repl_pair.variant("opens/Row", args={"pair": Pair("p9-x")})
    text = ask("run_variant", variant_id="opens/Row", overrides=body["args"])
    assert text["result"]["status"] == "cannot_run"


# --- a story that takes no data from agents


@dataclass
class Till:
    rate: float = 1.0
    paid: list[float] = field(default_factory=list[float])

    def pay(self, amount: float = 1.0) -> None:
        self.paid.append(amount)


@pytest.fixture
def till():
    @repl_pair.decorator("scaled")
    def scaled(by: float = 1.0):
        yield

    repl_pair.story("till", component=Till, agent_overrides=False)
    repl_pair.variant("till/One", args={"rate": 2.0}, events=[["pay", {"amount": 5.0}]])
    repl_pair.story("open", component=Till)
    repl_pair.variant("open/High", args={"rate": 99.0})


HANDING = {
    "args": {"args": {"rate": 9.0}},
    "args_to_events": {"extends": "till/One", "args_to_events": {"rate": "pay"}},
    "events": {"events": [["pay", {"amount": 9.0}]]},
    "loaders_teardown": {"loaders_teardown": [["pay", {"amount": 9.0}]]},
    "decorators": {"decorators": [["scaled", {"by": 9.0}]]},
    "step 'set'": {"play": [["set", "rate", 9.0]]},
    "step 'dispatch'": {"play": [["dispatch", ["pay", {"amount": 9.0}]]]},
    "step 'call'": {"plays": {"one": [["call", "pay", {"amount": 9.0}]]}},
    "extends 'open/High'": {"extends": "open/High"},
}
FREE = {
    "extends": "till/One",
    "events": ["pay"],
    "decorators": ["scaled"],
    "tags": ["test"],
    "play": [["dispatch", "pay"], ["call", "pay"], ["path_equals", "result.paid", [5, 1, 1, 1]]],
}


@pytest.mark.parametrize("what", HANDING)
def test_an_agent_hands_no_data_to_a_story_that_refuses_it(till, what):
    text = ask("register_variant", variant_id="till/Theirs", body=HANDING[what])
    assert text["error"]["code"] == "bad_body"
    message = text["error"]["message"]
    assert f"{what}: story 'till' is registered with agent_overrides=False" in message
    assert "Leave them out" in message


@pytest.mark.parametrize("what", HANDING)
def test_what_an_agent_hands_is_refused_by_a_story_that_refuses_it_since(till, what):
    repl_pair.story("till", component=Till)
    assert ask("register_variant", variant_id="till/Theirs", body=HANDING[what])["ok"]
    repl_pair.story("till", component=Till, agent_overrides=False)
    ran = ask("run_variant", variant_id="till/Theirs")["result"]
    assert (ran["status"], f"{what}: story 'till'" in ran["reason"]) == ("cannot_run", True)


def test_what_hands_no_data_is_an_agents_to_write(till):
    assert ask("register_variant", variant_id="till/Theirs", body=FREE)["ok"]
    assert ask("run_variant", variant_id="till/Theirs")["result"]["status"] == "pass"


def test_an_agents_decorator_answers_and_patches_nothing_of_such_a_story(till):
    patch = {"kind": "frame_setup", "patch": {"rate": 9.0}}
    answer = {"kind": "fx_override", "effect": "x", "response": 9.0}
    for id, body in (("patched", patch), ("answered", answer)):
        assert ask("register_decorator", decorator_id=id, body=body)["ok"]
        assert ask("register_variant", variant_id=f"till/{id}", body={"decorators": [id]})["ok"]
        ran = ask("run_variant", variant_id=f"till/{id}")["result"]
        assert (ran["status"], "agent_overrides=False" in ran["reason"]) == ("cannot_run", True)


def test_an_agents_story_over_a_component_is_refused_once_its_person_takes_no_data(till):
    repl_pair.story("mine", component=Pair)
    body = {"component_of": "mine", "args": {"n": 9}}
    assert ask("register_story", story_id="theirs", body=body)["ok"]
    assert ask("register_variant", variant_id="theirs/One", body={})["ok"]
    repl_pair.story("mine", component=Pair, agent_overrides=False)
    ran = ask("run_variant", variant_id="theirs/One")["result"]
    assert (ran["status"], "agent_overrides=False" in ran["reason"]) == ("cannot_run", True)


# --- modes that bring secrets to other stories


def vault() -> str:
    return "p9-x"


def sworn() -> Annotated[str, Sensitive]:
    return "p9-x"


def log_in(pin: Annotated[str, Sensitive] = "", note: str = "") -> str:
    return note


def echo(pin: str = "", note: str = "", lines: Any = None) -> str:
    return f"{pin} {note} {lines}"


@pytest.fixture
def modes():
    repl_pair.loader("vault")(vault)
    repl_pair.loader("sworn")(sworn)
    repl_pair.mode("by-use", args={"pin": repl_pair.ref("vault")})
    repl_pair.mode("by-word", args={"note": repl_pair.ref("sworn")})
    repl_pair.mode("below", args={"lines": [{"a": repl_pair.ref("sworn")}]})
    repl_pair.mode("itself", args={"pin": "p9-x"})
    repl_pair.story("log", component=log_in)
    repl_pair.variant("log/In")
    repl_pair.story("echo", component=echo)
    repl_pair.variant("echo/Any")


@pytest.mark.parametrize("mode", ["by-use", "by-word", "below", "itself"])
def test_an_agent_brings_no_secret_of_a_mode_to_an_open_arg_of_another_story(modes, mode):
    named = ask("run_variant", variant_id="echo/Any", modes=[mode])["result"]
    assert named["status"] == "cannot_run"
    assert f"mode {mode!r} brings a secret to" in named["reason"]
    shown = ask("preview_variant", variant_id="echo/Any", modes=[mode])
    swept = ask("run_variants", ids=["echo/Any"], modes=[mode])
    assert swept["result"]["counts"]["cannot_run"] == 1
    assert "p9-x" not in str((named, shown, swept))
    assert "p9-x" in repl_pair.run("echo/Any", modes=[mode]).result, "the person may"


@pytest.mark.parametrize("mode", ["by-use", "by-word", "below", "itself"])
def test_a_mode_that_an_agent_may_not_activate_is_explained_by_the_reason_of_its_run(modes, mode):
    ran = ask("run_variant", variant_id="echo/Any", modes=[mode])["result"]
    explained = ask("explain_variant", variant_id="echo/Any", modes=[mode])
    assert explained["result"]["conflicts"] == [ran["reason"]]
    assert "p9-x" not in str(explained)
    assert repl_pair.explain("echo/Any", modes=[mode])["conflicts"] == [], "the person may"


def test_an_agent_activates_a_mode_that_holds_a_secret_where_the_story_names_it(modes):
    ran = ask("run_variant", variant_id="log/In", modes=["by-use"])["result"]
    assert ran["status"] == "cannot_run"
    identity = ask("snapshot_identity", variant_id="log/In", modes=["by-use"])
    assert identity["error"]["message"] == ran["reason"]
    repl_pair.story("log", component=log_in, modes=["by-use"])
    ran = ask("run_variant", variant_id="log/In", modes=["by-use"])["result"]
    assert (ran["status"], ran["effective_args"]) == ("pass", {"pin": REDACTED})
    repl_pair.mode("open", args={"note": "hello"})
    ran = ask("run_variant", variant_id="echo/Any", modes=["open"])["result"]
    assert ran["result"] == " hello None"
    repl_pair.story("echo", component=echo, modes=["by-use"])
    assert ask("run_variant", variant_id="echo/Any", modes=["by-use"])["result"]["status"] == "pass"
    body = {"modes": ["by-word"]}
    assert ask("register_variant", variant_id="echo/Theirs", body=body)["ok"]
    ran = ask("run_variant", variant_id="echo/Theirs", modes=["by-word"])["result"]
    assert ran["status"] == "cannot_run", "an agent's variant makes no mode fit"


# --- names that a tier hides, in errors


def ring(component: Any) -> Any:
    raise RuntimeError("boom")


@pytest.fixture
def tiers():
    """The tier `ops` sees variants that rest on what it does not see, or on what is gone."""
    for name in ("inner/wrap", "inner/gone"):
        repl_pair.decorator(name, wrap=ring)
    repl_pair.mode("inner/mode", args={"note": "a"})
    repl_pair.story("ops", component=log_in, modes=["inner/mode"], tier="ops")
    repl_pair.variant("ops/InnerGone")
    repl_pair.variant("ops/InnerNear")
    repl_pair.variant("ops/InnerHeir", extends="ops/InnerGone")
    repl_pair.variant("ops/Broken", extends="ops/InnerHeir", tier="ops")
    repl_pair.variant("ops/Orphan", extends="ops/InnerGone", tier="ops")
    repl_pair.variant("ops/Wrapped", decorators=["inner/wrap"], tier="ops")
    repl_pair.variant("ops/Lost", decorators=["inner/gone"], tier="ops")
    repl_pair.variant("ops/Inner0")
    for n in range(1, 31):
        repl_pair.variant(f"ops/Inner{n}", extends=f"ops/Inner{n - 1}")
    repl_pair.variant("ops/Long", extends="ops/Inner30", tier="ops")
    repl_pair.variant("ops/Fine", tier="ops")
    REGISTRY.unregister("variant", "ops/InnerGone")
    REGISTRY.unregister("decorator", "inner/gone")


@pytest.mark.parametrize("name", ["Broken", "Orphan", "Wrapped", "Lost", "Long"])
def test_no_answer_to_a_tier_names_what_it_does_not_see_or_what_is_gone(tiers, name):
    given = {"variant_id": f"ops/{name}"}
    named = [
        *("run_variant", "preview_variant", "snapshot_identity", "explain_variant", "get_variant"),
        *("share_variant", "variant_to_data", "reset_variant", "read_assertions", "read_failures"),
    ]
    heard = {op: ask(op, tier="ops", **given) for op in named}
    rec = {"new_variant_id": "ops/Rec", "duration_ms": 0, "extends": f"ops/{name}"}
    heard["record"] = ask("record_as_variant", tier="ops", **given, **rec, write_back=True)
    heard["swept"] = ask("run_variants", tier="ops", ids=[f"ops/{name}"])
    heard["all"] = ask("run_variants", tier="ops", story_id="ops", matrix="all")
    body = {"extends": f"ops/{name}"}
    heard["heir"] = ask("register_variant", tier="ops", variant_id="ops/Heir", body=body)
    heard["changed"] = ask("changed_variants", tier="ops")
    assert [op for op, answer in heard.items() if "inner" in str(answer).casefold()] == []
    assert name == "Long" or "hidden" in str(heard["run_variant"])


def test_a_broken_chain_reads_as_one_that_is_hidden(tiers):
    text = ask("run_variant", tier="ops", variant_id="ops/Broken")["result"]["reason"]
    assert text == (
        "ops/Broken extends 'hidden': There is no variant 'hidden'. The chain: ops/Broken -> "
        "hidden -> hidden."
    )
    whole = ask("run_variant", variant_id="ops/Broken")["result"]["reason"]
    assert "'ops/InnerGone'. Nearest: ops/Inner" in whole, "without a tier all is shown"


@pytest.mark.parametrize("word", ["ops/InnerNear", "inner/mode", "inner/wrap"])
def test_a_guess_reads_the_same_whether_it_is_hidden_or_unknown(tiers, word):
    def heard(guess: str) -> str:
        given = {"tier": "ops", "variant_id": "ops/Fine"}
        broken = given | {"variant_id": "ops/Broken"}
        deep = {"extends": "ops/Long", "doc": guess}
        answers = [
            ask("run_variant", **given, plays=[guess]),
            ask("run_variant", **broken, plays=[guess]),
            ask("run_variant", **given, modes=[guess]),
            ask("run_variant", tier="ops", variant_id=guess),
            ask("run_variants", tier="ops", ids=[guess]),
            ask("run_variants", tier="ops", ids=["ops/Fine"], modes=[guess]),
            ask("explain_variant", **given, overrides={guess: 1}),
            ask("explain_variant", **given, overrides={"note": guess}),
            ask("share_variant", **given, overrides={guess: 1}),
            ask("register_variant", tier="ops", variant_id="ops/New", body={"extends": guess}),
            ask("register_variant", tier="ops", variant_id="ops/New", body={"modes": [guess]}),
            ask("register_variant", tier="ops", variant_id="ops/New", body=deep),
            ask("unregister", tier="ops", kind="variant", id=guess),
        ]
        results = [a.get("result") or {} for a in answers]
        reasons = [[r.get("reason"), r.get("conflicts"), r.get("reasons")] for r in results]
        return (
            str([[a.get("error") for a in answers], reasons])
            .replace(guess, "GUESS")
            .replace(guess.casefold(), "GUESS")
        )

    unknown = word[:-1] + ("x" if word[-1] != "x" else "y")
    assert heard(word) == heard(unknown)
    assert "GUESS" in heard(word)


# --- what a function says of what it gives


class Card(TypedDict):
    code: Annotated[str, Sensitive]
    n: int


class Picture:
    def _repr_html_(self) -> str:
        return "<b>4417</b>"


def give_code() -> Annotated[str, Sensitive]:
    return "p9-x"


def give_picture() -> Annotated[Any, Sensitive]:
    return Picture()


async def give_later() -> Annotated[str, Sensitive] | None:
    return "p9-x"


def give_rows() -> list[Annotated[str, Sensitive]]:
    return ["p9-x"]


def give_table() -> list[list[Annotated[str, Sensitive]]]:
    return [["p9-x"]]


def give_stream() -> Iterator[Annotated[str, Sensitive]]:
    yield "p9-x"


def give_pair() -> tuple[int, Annotated[str, Sensitive]]:
    return 1, "p9-x"


def give_map() -> dict[str, list[Card]]:
    return {"a": [{"code": "p9-x", "n": 1}]}


class Desk:
    def __init__(self) -> None:
        self.seen = 0

    def reveal(self) -> Annotated[str, Sensitive]:
        self.seen += 1
        return "p9-x"

    def card(self) -> Card:
        return {"code": "p9-x", "n": 1}


GIVEN = {
    give_code: REDACTED,
    give_picture: REDACTED,
    give_later: REDACTED,
    give_rows: [REDACTED],
    give_table: [[REDACTED]],
    give_stream: [REDACTED],
    give_pair: [1, REDACTED],
    give_map: {"a": [{"code": REDACTED, "n": 1}]},
}
LOOKING = [
    ["path_equals", "result", "p9-x"],
    ["path_equals", "last", "p9-x"],
    ["path_equals", "state", "p9-x"],
    ["result_equals", "p9-x"],
    ["length", "result", 4],
    ["contains", "result", "p9"],
    ["rendered_text", "p9-x"],
    ["matches_snapshot"],
]


def leaves(variant_id: str) -> list[str]:
    ops = ("run_variant", "preview_variant", "read_assertions", "read_failures", "get_variant")
    ops += ("variant_to_data", "explain_variant")
    heard = [(op, ask(op, variant_id=variant_id)) for op in ops]
    return [op for op, answer in heard if not answer["ok"] or "p9-x" in str(answer)]


@pytest.mark.parametrize("give", GIVEN, ids=lambda fn: fn.__name__)
def test_what_a_component_declares_that_it_gives_leaves_redacted(give):
    repl_pair.story("gives", component=give)
    repl_pair.variant("gives/Mine", play=[*LOOKING, ["wait", 0]])
    repl_pair.variant("gives/Bare")
    assert ask("run_variant", variant_id="gives/Bare")["result"]["result"] == GIVEN[give]
    assert leaves("gives/Mine") == leaves("gives/Bare") == []


def test_a_projection_method_handler_and_derivation_may_give_secrets_too():
    repl_pair.handler("peek")(giving(Desk))
    repl_pair.derived("code")(giving(Desk))
    repl_pair.story("desk", component=Desk)
    play = [["call", "reveal"], ["path_equals", "last", "p9-x"], ["dispatch", "peek"]]
    play += [["path_equals", "last", "x"], ["call", "card"], ["derived_equals", "code", "p9-x"]]
    repl_pair.variant("desk/Mine", play=play)
    repl_pair.story("shown", component=Desk, state=giving(Desk))
    repl_pair.variant("shown/Mine", play=[["call", "card"], ["path_equals", "state", "x"]])
    looks = [["path_equals", "last", "x"]]
    repl_pair.variant("desk/Begun", events=[["peek", {}]], play=looks)
    assert leaves("desk/Mine") == leaves("shown/Mine") == leaves("desk/Begun") == []
    ran = ask("run_variant", variant_id="desk/Mine")["result"]
    assert ran["last"] == {"code": REDACTED, "n": 1}


def log_in_by(pin: Annotated[str, Sensitive], note: str = "") -> str:
    return note


class Gate:
    def open(self, pin: Annotated[str, Sensitive]) -> None:
        """Open."""


def test_what_an_assertion_of_the_persons_own_expects_of_an_event_leaves_redacted():
    @repl_pair.assertion
    def was_sent(view: Any, event: Any) -> bool:
        return list(view.events) == [event]

    event = ["open", {"pin": "p9-x"}]
    repl_pair.story("gate", component=Gate)
    repl_pair.variant("gate/Mine", events=[event], play=[["was_sent", event]])
    assert repl_pair.run("gate/Mine").status == "pass"
    assert leaves("gate/Mine") == []


@pytest.mark.parametrize("component", [give_code, log_in_by])
@pytest.mark.parametrize("line", [["is_like", "p9-x"], ["is_like", 1, "p9-x"]], ids=str)
def test_what_an_assertion_of_the_persons_own_expects_leaves_redacted(component, line):
    def is_like(view: Any, *expected: Any) -> repl_pair.Verdict:
        return repl_pair.Verdict(passed=view.at("args.pin" if "pin" in args else "result") != "")

    args = {} if component is give_code else {"pin": "p9-x"}
    repl_pair.assertion("is_like")(is_like)
    repl_pair.story("gives", component=component)
    repl_pair.variant("gives/Mine", args=args, play=[line])
    assert leaves("gives/Mine") == []
    repl_pair.story("open", component=lambda note: note)
    repl_pair.variant("open/Mine", args={"note": "x"}, play=[line])
    shown = ask("get_variant", variant_id="open/Mine")["result"]
    assert shown["play"] == [line], "nothing of this story is secret"
    REGISTRY.unregister("assertion", "is_like")
    assert "p9-x" not in str(ask("get_variant", variant_id="gives/Mine"))


def giving(_cls: type) -> Any:
    def take(live: Any) -> Annotated[str, Sensitive]:
        return "p9-x"

    return take


@pytest.mark.parametrize("line", LOOKING[:-1], ids=str)
def test_no_play_of_an_agents_guesses_what_a_component_declares_that_it_gives(line):
    repl_pair.story("gives", component=give_code)
    repl_pair.derived("code")(giving(Desk))
    for play in ([line], [["derived_equals", "code", "p9-x"]]):
        assert ask("register_variant", variant_id="gives/Theirs", body={"play": play})["ok"]
        ran = ask("run_variant", variant_id="gives/Theirs")["result"]
        assert (ran["status"], "a secret stands" in ran["reason"]) == ("cannot_run", True)


def test_the_person_asserts_on_what_is_declared():
    repl_pair.story("gives", component=give_code)
    repl_pair.variant("gives/Mine", play=[["path_equals", "result", "p9-x"]])
    record = repl_pair.run("gives/Mine")
    assert (record.status, record.result) == ("pass", "p9-x")


# --- what is shown of a component


@dataclass
class Lock:
    code: Annotated[str, Sensitive] = "p9-x"
    n: int = 0


def open_all(
    pin: Annotated[str, Sensitive] = "",
    pair: Pair = Pair("p9-x"),  # noqa: B008  it is a value
    rows: list[Annotated[str, Sensitive]] = ["p9-x"],  # noqa: B006  nobody changes it
    n: int = 3,
) -> int:
    return n


def test_no_default_doc_or_argtype_reports_of_what_is_declared():
    heard = {"pin": {"options": ["p9-x"]}, "n": {"options": [3]}}
    repl_pair.story("locks", component=Lock)
    repl_pair.story("opens", component=open_all, argtypes=heard)
    repl_pair.variant("opens/Any", argtypes=heard)
    ops = [("get_story", {"story_id": id}) for id in ("locks", "opens")]
    ops += [("get_docs_markdown", args) for _, args in ops]
    ops += [(op, {"variant_id": "opens/Any"}) for op in ("get_variant", "variant_to_data")]
    answers = [(op, ask(op, **args)) for op, args in ops]
    assert [op for op, answer in answers if not answer["ok"] or "p9-x" in str(answer)] == []
    story = answers[1][1]["result"]
    assert story["argtypes"] == {"pin": REDACTED, "n": {"options": [3]}}
    assert story["args_schema"]["properties"]["n"]["default"] == 3


KEY = "zX91-kkQw-77Lm-aa"


def call_out(url: str = KEY, token: str = KEY) -> str:
    return "done"


def test_the_default_of_a_secret_parameter_is_known_wherever_it_stands():
    repl_pair.story("calls", component=call_out)
    assert KEY not in str(ask("get_story", story_id="calls"))
    assert KEY not in str(ask("get_docs_markdown", story_id="calls"))


def test_no_schema_holds_the_values_of_a_secret_or_a_default_beside_its_name():
    def enter(
        pin: Annotated[Literal["p9-x"], Sensitive] = "p9-x",
        pair: Any = ("password", "p9-x"),
        headers: Any = [("Authorization", "p9-x"), ("Host", "h")],  # noqa: B006
        size: Any = ("size", 3),
    ) -> int:
        return 1

    repl_pair.story("enters", component=enter)
    for op in ("get_story", "get_docs_markdown"):
        assert "p9-x" not in str(ask(op, story_id="enters"))
    properties = ask("get_story", story_id="enters")["result"]["args_schema"]["properties"]
    assert properties["size"]["default"] == ["size", 3]


def test_a_number_under_a_secret_name_is_known_before_a_read(monkeypatch):
    monkeypatch.setitem(user_namespace(), "pin_token", 4815162342)
    monkeypatch.setitem(user_namespace(), "token_of_few", 4815)
    repl_pair.tag("numbered", doc="It is 4815162342, not 4815.")
    assert "It is [redacted], not 4815." in str(ask("list_tags"))


@pytest.mark.parametrize("guess", ["sess-prod-7Q", "sess-prod-zz", "anne"])
def test_what_is_near_a_wrong_key_is_looked_for_beside_keys_that_are_secrets(guess, monkeypatch):
    key = "sess-prod-7Q2x9Lm4vW"
    kept = {key: {"n": 1}, "anna": {"n": 2}, "sess-prod-": {"n": 3}}
    monkeypatch.setitem(user_namespace(), "api_token", key)
    monkeypatch.setitem(user_namespace(), "kept", kept)
    repl_pair.story("keeps", component=lambda: kept)
    repl_pair.surface("held").collection("kept", dict[str, Any], expose=True).update(kept)
    repl_pair.variant("keeps/It", play=[["path_equals", f'result["{guess}"]', 1]])
    near = "anna" if guess == "anne" else "sess-prod-"
    answers = [
        ask("get_value", path=f'kept["{guess}"]')["error"]["message"].partition(".")[2],
        ask("read_member", member="held/kept", key=guess)["error"]["message"],
        ask("run_variant", variant_id="keeps/It")["result"]["assertions"][0]["reason"],
    ]
    assert [near in text.replace(guess, "") for text in answers] == [True] * 3, answers
    assert not [word for word in (key, REDACTED) if word in str(answers)]


def test_a_short_secret_that_is_derived_is_hidden_where_the_function_declares_that_it_gives_one():
    def pin(account: dict[str, str]) -> Annotated[str, Sensitive]:
        return account["pin"]

    bank = repl_pair.surface("bank")
    bank.cell("account", dict[str, str], default={"pin": "7391"})
    repl_pair.project("shown", bank, hello=repl_pair.derive(pin, "account"))
    assert ask("read_member", member="shown/hello")["result"]["value"] == REDACTED


@pytest.mark.parametrize("key", ["sess-prod-7Q2x9Lm4vW", "ghp_" + "a1B2c3D4e5F6" * 3])
def test_a_key_that_is_not_shown_reads_as_not_there_also_to_who_guesses_it(key, monkeypatch):
    wrong, kept = key[:-1] + "Z", {key: 1, "anna": 2}
    monkeypatch.setitem(user_namespace(), "api_token", key if "prod" in key else "")
    monkeypatch.setitem(user_namespace(), "kept", kept)
    repl_pair.surface("held").collection("kept", dict[str, int], expose=True).update(kept)
    began = ask("read_member", member="held/kept")["result"]["next"]
    marks = ask("await_members", watched=["held/kept/none"])["result"]["marks"]

    def answers(guess: str) -> str:
        given = [
            ask("get_value", path=f'kept["{guess}"]')["error"],
            ask("describe_object", path=f'kept["{guess}"]')["error"],
            ask("read_member", member="held/kept", key=guess)["error"],
            ask("read_member", member="held/kept", key=f"{guess} {key}")["error"],
            ask("read_member", member="held/kept", key=guess, since=began - 1)["result"],
            ask("await_members", watched=[f"held/kept/{guess}"])["result"]["marks"],
        ]
        return str(given).replace(guess, "?")

    assert answers(key) == answers(wrong).replace(key, "?")
    assert answers(key).endswith(f"{marks}]")
    keys = ask("complete_ids", kind="key", member="held/kept")["result"]
    assert keys == {"values": ["anna"], "total": 1}


def test_an_explanation_reads_the_same_whether_what_was_sent_holds_a_secret(monkeypatch):
    secret = "hunter-9-Kx7pQ"
    monkeypatch.setitem(user_namespace(), "db_password", secret)
    repl_pair.story("echoes", component=lambda x=None, note="", y=None: x)
    args = {"note": f"It is {secret}.", "x": f"was {secret}"}
    repl_pair.variant("echoes/It", args=args, args_to_events={"y": "noted"})

    def explained(word: str) -> str:
        sent = {"x": f"zz {word} aa{word}", "y": word, "no": word}
        found = ask("explain_variant", variant_id="echoes/It", overrides=sent)["result"]
        return str(found).replace(word, "?")

    right, wrong = explained(secret), explained("gunter-9-Kx7pQ")
    assert right == wrong
    assert right.count(REDACTED) == 2


def test_what_an_effect_declares_within_its_response_leaves_redacted():
    repl_pair.effect.impl("card/get")(give_card)
    repl_pair.story("asks", component=lambda: len(repl_pair.effect("card/get")))
    looks = [["path_equals", "effects[0].response.code", "x"], ["path_equals", "effects", "x"]]
    repl_pair.variant("asks/Card", play=looks)
    assert leaves("asks/Card") == []
    ran = ask("run_variant", variant_id="asks/Card")["result"]
    assert ran["effects"][0]["response"] == {"code": REDACTED, "n": 1}
    body = {"play": [["length", "effects[0].response.code", 4]]}
    assert ask("register_variant", variant_id="asks/Theirs", body=body)["ok"]
    assert ask("run_variant", variant_id="asks/Theirs")["result"]["status"] == "cannot_run"


def give_card() -> Card:
    return {"code": "p9-x", "n": 1}


@pytest.mark.parametrize("op", ["run_variants", "read_failures", "read_assertions", "run_variant"])
def test_a_secret_arg_stands_in_no_text_of_an_answer_without_the_args(op):
    def fail(api_key: str = "") -> None:
        print("with", api_key)
        raise ValueError(f"bad key {api_key}")

    canary = f"canary-of-{op}-Zq7k"  # not yet a secret that another call met
    repl_pair.story("till.fail", component=fail, args={"api_key": canary})
    repl_pair.variant("till.fail/It")
    if op.startswith("read_"):
        repl_pair.run("till.fail/It")
    args = {"run_variants": {"ids": ["till.fail/It"]}, "read_failures": {}}
    lean = {"detail": "lean"} if op == "run_variant" else {}
    left = str(ask(op, **args.get(op, {"variant_id": "till.fail/It"} | lean)))
    assert "ValueError: bad key [redacted]" in left
    assert canary not in left
