"""Who learns a secret: all what the person holds, its call alone what an agent's data made."""

import sys
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from hypothesis import given, strategies as st
from pydantic import SecretStr

from repl_pair.runtime.secrets import known, learning
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.held import SECRET_WIDTH
from repl_pair.runtime.secrets.known import SENT_WORDS, SHARED, CallSecrets, Known, made_of, within
from repl_pair.runtime.secrets.learning import PASS_PARTS, SECRETS, learn_held
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.values.classes import is_installed
from repl_pair.wire import REDACTED

SECRET = "c4nary-of-the-person"
SENT = {"password": "the-word-total", "n": [12345678], "u": "a://b:guess-1-2@c"}


@pytest.fixture
def needles() -> Known:
    return Known()


def shown(value, needles):
    return send_out(value, needles=needles).value


def test_what_is_made_of_an_agents_data_is_hidden_in_its_call_and_learned_by_nobody(needles):
    mine = CallSecrets()
    with within(mine), made_of(SENT):
        out = shown({"token": "t0ken-made-of-it", "log": "got t0ken-made-of-it"}, needles)
    assert out == {"token": REDACTED, "log": f"got {REDACTED}"}
    assert len(needles) == 0
    assert shown("got t0ken-made-of-it", needles) == "got t0ken-made-of-it"
    # The record of the run keeps them for those who read it later.
    assert (
        send_out("got t0ken-made-of-it", needles=needles, secrets=mine).value == f"got {REDACTED}"
    )


def test_a_secret_of_a_module_of_the_persons_is_known_also_under_a_name_of_the_library(
    tmp_path, monkeypatch, module
):
    file = tmp_path / "mailbox.py"
    file.write_text('API_KEY = "c4nary-of-a-module"')
    spec = spec_from_file_location("mailbox", file)
    monkeypatch.setitem(sys.modules, "mailbox", module_from_spec(spec))
    spec.loader.exec_module(sys.modules["mailbox"])
    app = module("app", "import mailbox\ndef total(): pass")
    learning.learn_before_output([app.total])
    assert send_out("got c4nary-of-a-module").value == f"got {REDACTED}"
    monkeypatch.undo()
    assert all(map(is_installed, ("mailbox", "os", "sys", "json", "_struct", "pytest")))


def test_what_an_agent_sent_is_hidden_where_a_secret_stands_and_becomes_none(needles):
    needles.note_sent(SENT)
    with made_of(SENT):
        out = shown(
            {"password": "the-word-total", "token": 12345678, "text": "the-word-total"}, needles
        )
    assert out == {"password": REDACTED, "token": REDACTED, "text": "the-word-total"}
    # Also where a later call meets it in the person's objects.
    shown({"app": {"password": "Basic the-word-total 12345678"}}, needles)
    needles.add("the-word-total", rank=Rank.HELD)
    assert shown("the-word-total, 12345678", needles) == "the-word-total, 12345678"
    needles.add("the-word-total", rank=Rank.GIVEN)
    assert shown("the-word-total", needles) == REDACTED


def test_an_agent_cannot_push_out_that_it_sent_a_word_before(needles):
    needles.note_sent("the-word-total")
    needles.add("the-word-total", rank=Rank.HELD)
    needles.note_sent([f"padding-{n}" for n in range(SENT_WORDS)])
    needles.add("the-word-total", rank=Rank.HELD)
    assert len(needles) == 0


def test_sending_a_known_secret_does_not_make_it_less_known(needles):
    needles.add(SECRET, rank=Rank.HELD)
    needles.note_sent(SECRET)
    needles.add(SECRET, rank=Rank.HELD)
    assert shown(SECRET, needles) == REDACTED


@given(guess=st.sampled_from([SECRET, "c4nary-of-the-agent"]), key=st.sampled_from("xy"))
def test_a_reply_does_not_confirm_a_guess(guess, key):
    needles = Known()
    needles.add(SECRET, rank=Rank.HELD)
    with made_of({key: [guess]}):
        out = shown({"echo": guess, "hex": guess.encode().hex(), "said": f"no {guess!r}"}, needles)
    assert out == {"echo": guess, "hex": guess.encode().hex(), "said": f"no {guess!r}"}


def test_other_secrets_stay_hidden_from_who_guessed_one(needles):
    needles.add("other-c4nary-here", rank=Rank.HELD)
    needles.add(SECRET, rank=Rank.HELD)
    with made_of([SECRET]):
        assert shown(f"{SECRET} other-c4nary-here", needles) == f"{SECRET} {REDACTED}"


def test_one_call_adds_a_bounded_number_of_what_it_meets_to_what_all_know(needles):
    held = [f"held-by-the-person-{n}" for n in range(50)]
    for one in held:
        needles.add(one)
    for _ in range(2):
        with within(CallSecrets()):
            many = [{"token": f"t0ken-{n}-of-a-run"} for n in range(1500)]
            assert shown(many, needles)[-2] == {"token": REDACTED}
    assert len(needles) == 50 + 2 * SHARED
    assert not set(held) - needles.ranks.keys()


def test_each_rank_is_trimmed_by_itself(needles):
    needles.limit = 100
    needles.add("given-for-good-1", rank=Rank.GIVEN)
    for n in range(80):
        needles.add(f"held-by-the-person-{n}", rank=Rank.HELD)
    for n in range(500):
        needles.add(f"met-in-a-result-{n}")
    needles.trim()
    assert len(needles) == 1 + 80 + 75
    assert "met-in-a-result-499" in needles.ranks
    assert "held-by-the-person-0" in needles.ranks


def test_what_loaders_and_members_give_goes_by_the_limit_though_no_pass_begins(
    needles, monkeypatch
):
    monkeypatch.setattr(learning, "NEEDLES", needles)
    needles.limit = 100
    needles.add("held-by-the-person-1", rank=Rank.HELD)
    for n in range(500):
        learning.learn_declared(f"t0ken-{n}-of-a-loader", [()])
    needles.trim()
    assert len(needles) == 1 + 75


def test_a_number_met_in_a_call_is_hidden_in_it_as_a_number(needles):
    with made_of({"x": 1}):
        assert shown({"pin_token": 4815162342, "id": 4815162342}, needles) == {
            "pin_token": REDACTED,
            "id": REDACTED,
        }
    assert known.current_secrets() is None


@pytest.mark.parametrize("make", [dict, lambda pairs: [value for _, value in pairs]])
def test_the_parts_of_what_has_a_secret_name_are_learned_also_where_they_are_many(needles, make):
    tokens = [(f"u{n}", f"Rk5wQ{n:03d}zT8mVb3X") for n in range(SECRET_WIDTH)]
    learn_held([{"access_tokens": make(tokens)}], needles=needles)
    assert needles.scrub(tokens[-1][1])[0] == "[redacted]"


KEYS = [
    Enum("Col", "API_KEY").API_KEY,
    b"api_key",
    ("api_key", 1),
    namedtuple("Setting", "env name")("db", "api_key"),
    frozenset({"api_key"}),
    (frozenset({"key", "api"}), 1),
    Enum("Pair", {"API_KEY": (1, 2)}, type=tuple).API_KEY,
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: type(key).__name__)
@pytest.mark.parametrize("others", [0, 1_500])
def test_what_stands_under_a_key_that_holds_a_secret_name_is_learned(needles, key, others):
    held = {f"setting_{n}": n for n in range(others)}
    learn_held([{**held, key: SECRET}], needles=needles)
    assert needles.scrub(SECRET)[1]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: type(key).__name__)
def test_what_stands_under_a_key_that_holds_a_secret_name_does_not_leave(key):
    assert list(send_out({key: "hun7r"}).value.values()) == [REDACTED]


def test_many_levels_of_what_has_a_secret_name_share_one_budget(needles):
    spaces = [
        {f"token_rows_{k}": [[f"t0k-{k}-{i}-{n}" for n in range(100)] for i in range(100)]}
        for k in range(9)
    ]
    learn_held([*spaces, {"last_password": "c4nary-named-last"}], needles=needles)
    assert sum(text.startswith("t0k-0-") for text in needles.ranks) > SECRETS // 2
    assert len(needles) < PASS_PARTS
    assert needles.scrub("c4nary-named-last")[1]


@dataclass
class Key:
    id: int
    secret: str
    scope: str = "read"


def test_small_secrets_are_known_however_many_and_behind_whatever_is_large(needles):
    words = [f"Rk5wQ{n:04d}zT8mVb3X" for n in range(2_000)]
    large = {f"{n}_credentials": [[i, i + 1, n] for i in range(900)] for n in "abcdefgh"}
    typed = [{f"u{n}": SecretStr(one) for n, one in enumerate(words[at::20])} for at in range(10)]
    named = [[{"password": one}, {"api_tokens": [one]}] for one in words[10::20]]
    keys = {"api_keys": [Key(n, one) for n, one in enumerate(words[:900])]}
    spaces = [keys, large, *typed, *(space for pair in named for space in pair)]
    learn_held(spaces, needles=needles)
    expected = [*words[:900], *(one for at in range(11) for one in words[at::20])]
    assert not set(expected) - needles.ranks.keys()


def test_what_a_pass_over_the_variables_meets_stays_known_however_much_it_is(needles):
    needles.limit, held = 100, {"db_password": SECRET}
    for n in range(5):
        needles.begin_pass()
        learn_held([held, {"tokens": [f"t0ken-{n}-{i}" for i in range(150)]}], needles=needles)
        needles.trim()
        assert needles.scrub(SECRET)[1]
        needles.trim()
    assert len(needles) <= 1 + 2 * 150 + 100
