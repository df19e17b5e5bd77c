"""What an agent learns by sending guesses, and what its words do to the replies of others."""

import base64
import json

import pytest

SECRET, WRONG = "hunter-9-Kx7pQ", "hunter-9-Kx7pZ"
NUMBER, OTHER = 48151623, 48151624
SETUP = f"""
import base64, sys
import repl_pair

db_password = {SECRET!r}
pin_token = {NUMBER}
later = {{}}

@repl_pair.story("guess.echo")
def echo(x="", y=0):
    print("got", x)
    print("got", [x, y], file=sys.stderr)
    return {{"x": x, "y": y, "note": f"<{{x}}>", "basic": base64.b64encode(str(x).encode())}}

repl_pair.variant("guess.echo/Plain")

@repl_pair.story("guess.made")
def made(x=""):
    print("made", x)
    return {{"headers": {{"Authorization": f"Basic {{x}} {{x.upper()}}-made"}}}}

repl_pair.variant("guess.made/Plain")

class Box:
    def __init__(self):
        self.password = None
    def keep(self, x: str):
        self.password = x

box = Box()

@repl_pair.story("guess.keeping")
def keeping(x=""):
    box.password = x
    return len(x)

repl_pair.variant("guess.keeping/Plain")

@repl_pair.story("guess.many")
def many(start: int = 0):
    return [{{"token": f"generated-token-{{start + n}}"}} for n in range(1500)]

repl_pair.variant("guess.many/Plain")
"""
PLAIN = {"variant_id": "guess.echo/Plain"}
# What holds a guess, as op and arguments; "?" stands for it, "#" for a guessed number.
CALLS = {
    "a run": [
        ("run_variant", {"variant_id": "guess.echo/Plain", "overrides": {"x": "?", "y": "#"}})
    ],
    "a list": [
        ("run_variant", {"variant_id": "guess.echo/Plain", "overrides": {"x": ["?", "no"]}})
    ],
    "a key": [("run_variant", {"variant_id": "guess.echo/Plain", "overrides": {"x": {"?": 1}}})],
    "a preview": [("preview_variant", {"variant_id": "guess.echo/Plain", "overrides": {"x": "?"}})],
    "an explanation": [
        ("explain_variant", {"variant_id": "guess.echo/Plain", "overrides": {"x": "?"}})
    ],
    "a link": [("share_variant", {**PLAIN, "overrides": {"x": "?"}, "base_url": "http://h/?"})],
    "an unknown id": [("get_variant", {"variant_id": "guess.echo/?"})],
    "an unknown mode": [("run_variant", {**PLAIN, "modes": ["?"]})],
    "an unknown argument": [("run_variant", {**PLAIN, "overrides": {"?": 1}})],
    "a wrong type": [("list_variants", {"limit": "?"})],
    "an unknown tag": [("list_variants", {"tags": ["?"]})],
    "a handle": [("read_more", {"handle": "?"})],
    "an expectation": [
        (
            "register_variant",
            {"variant_id": "guess.echo/Mine", "body": {"play": [["path_equals", "result.x", "?"]]}},
        ),
        ("get_variant", {"variant_id": "guess.echo/Mine"}),
        ("run_variant", {"variant_id": "guess.echo/Mine"}),
        ("read_failures", {}),
        ("read_assertions", {"variant_id": "guess.echo/Mine"}),
    ],
    "a registered arg": [
        ("register_variant", {"variant_id": "guess.echo/Own", "body": {"args": {"x": "?"}}}),
        ("get_variant", {"variant_id": "guess.echo/Own"}),
        ("variant_to_data", {"variant_id": "guess.echo/Own"}),
        ("run_variant", {"variant_id": "guess.echo/Own"}),
        ("run_variants", {"ids": ["guess.echo/Own"]}),
        ("explain_variant", {"variant_id": "guess.echo/Own"}),
        ("list_variants", {"limit": 100}),
    ],
    "a doc": [
        ("register_tag", {"tag_id": "mine", "body": {"doc": "It is ?."}}),
        ("list_tags", {"limit": 200}),
    ],
    "a bad body": [("register_tag", {"tag_id": "mine", "body": {"doc": ["?"]}})],
    "a session": [
        ("session_start", {"goal": "It is ?.", "rfc": "?"}),
        ("list_sessions", {"limit": 1}),
        ("session_stop", {}),
    ],
    "what is not there": [("unregister", {"kind": "tag", "id": "?"})],
}
VOLATILE = ("id", "session_id", "seconds", "started_at", "ended_at", "total", "cursor")
VOLATILE += ("elapsed_ms", "seq", "line", "revision", "handle")


@pytest.fixture(scope="module")
def person(kernel):
    return kernel


@pytest.fixture(scope="module")
def agent(person, connect):
    with connect("--kernel", person.path, "--allow", "write", "--toolsets", "story") as agent:
        yield agent


@pytest.fixture(scope="module")
def other(person, connect):
    with connect("--kernel", person.path, "--as", "other") as agent:
        yield agent


def filled(args, text, number):
    whole = json.dumps(args).replace('"#"', str(number)).replace("?", text)
    return json.loads(whole)


def answers(agent, calls, text, number):
    """Return what these calls answer, with the guesses and what differs in any two calls out."""
    given = [agent.ask(op, **filled(args, text, number)) for op, args in calls]
    plain = json.dumps(stable(given)).replace(str(number), "#")
    for form, sign in ((text, "?"), (encoded(text), "base64 of ?")):
        plain = plain.replace(form, sign)
    return plain


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def stable(node):
    if isinstance(node, dict):
        return {k: stable(v) for k, v in node.items() if k not in VOLATILE and "hash" not in k}
    return [stable(item) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize("holding", CALLS)
def test_a_reply_reads_the_same_whether_the_guess_that_it_repeats_is_right_or_wrong(agent, holding):
    answers(agent, CALLS[holding], WRONG, OTHER)  # what is registered replaces from here on
    wrong = answers(agent, CALLS[holding], WRONG, OTHER)
    assert answers(agent, CALLS[holding], SECRET, NUMBER) == wrong
    assert "?" in wrong or '"ok": false' in wrong


def test_nobody_else_reads_a_secret_because_an_agent_guessed_it(agent, other, person):
    late = "hunter-8-Jw6oP"
    person.cell(f"late_password = {late!r}")  # no reply has left since
    agent.ask("run_variant", variant_id="guess.echo/Plain", overrides={"x": late})
    person.cell("repl_pair.tag('plain', doc=f'It is {late_password}.')")
    seen = other.ask("run_op", op="list_tags", args={"limit": 200})["result"]["items"]
    (tag,) = [tag for tag in seen if tag["id"] == "plain"]
    assert tag["doc"] == "It is [redacted]."
    assert late.encode() not in other.record.out


def test_what_an_agents_story_takes_over_from_the_persons_was_not_sent(agent, person):
    lines = "first-line-of-a-key-9\nsecond-line-of-it-88"
    person.cell(f"many_password = {lines!r}")
    person.cell(
        "repl_pair.story('guess.doc', component=echo, doc='plain ' + many_password.split()[0])"
    )
    agent.ask("register_story", story_id="guess.taken", body={"component_of": "guess.doc"})
    for op, args in (
        ("list_stories", {"limit": 100}),
        ("get_story", {"story_id": "guess.taken"}),
        ("describe_op", {"op": "list_panels"}),
    ):
        agent.ask(op, **args)
    assert b"first-line-of-a-key-9" not in agent.record.out


def test_a_long_refusal_is_one_text(agent):
    tags = [f"unknown-tag-number-{n}" for n in range(400)]
    error = agent.ask("list_variants", tags=tags)["error"]
    assert type(error["message"]) is str
    assert len(error["message"]) <= 2000


def test_no_word_that_an_agent_sends_or_makes_becomes_a_secret_of_others(agent, other):
    words = "content_hash guess.echo/Plain plain-words registered"
    for x in (words, "content_hash"):
        for story in ("guess.made", "guess.keeping"):
            found = agent.ask("run_variant", variant_id=f"{story}/Plain", overrides={"x": x})
            assert found["result"]["status"] == "pass"
        again = agent.ask("run_variant", variant_id="guess.made/Plain", overrides={"x": x})
        assert again["result"]["result"] == {"headers": {"Authorization": "[redacted]"}}
    for reader in (agent, other):
        found = reader.ask("snapshot_identity", variant_id="guess.echo/Plain")["result"]
        assert "content_hash" in found
        listed = reader.ask("list_variants", limit=100)["result"]["items"]
        assert "guess.echo/Plain" in [line["id"] for line in listed]


def test_what_runs_generate_pushes_out_no_secret_of_the_person(agent, other, person):
    person.cell("held = {'session': {'token': 'session-token-of-the-person'}}")
    for start in range(0, 6000, 1500):
        agent.ask("run_variant", variant_id="guess.many/Plain", overrides={"start": start})
    for _ in range(3):
        agent.ask("run_variant", variant_id="guess.many/Plain")
    person.cell("repl_pair.tag('held', doc='It is session-token-of-the-person, ' + db_password)")
    seen = other.ask("run_op", op="list_tags", args={"limit": 200})["result"]["items"]
    (tag,) = [tag for tag in seen if tag["id"] == "held"]
    assert tag["doc"] == "It is [redacted], [redacted]"
