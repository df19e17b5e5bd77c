"""No secret of a live value leaves, in whatever kind of member it stands and wherever it was."""

import json

import pytest

WINDOW = 8
"""So many characters of a canary in a row are a leak."""
CANARIES = {
    "declared": "Qm4xTz8LwP2vKc9R",
    "before": "Hd7nYb3JsF6gWq1Z",
    "named": "Vk5pRt9MxC2zLh8B",
    "field": "Gw3jSd6QyN1fTv7K",
    "typed": "Xb8cMq4ZrJ5hPk2D",
    "column": "Lf6tWn1BvS9yGx3H",
    "event": "Zs2kDp7CgR4mJw8T",
    "item": "Nc9vBx5FhQ3lYt6P",
    "derived": "Jr1wKz7GdM8sVb4X",
    "returned": "Ty5uPz9LaS1dFg3H",
    "deep": "Wb2hQv8KtX6mRc4N",
}
SETUP = f"""
import repl_pair as rp, pandas, pydantic
from dataclasses import dataclass
from typing import Annotated, TypedDict

@dataclass
class Login:
    user: str
    password: str = ""

class Visit(TypedDict):
    by: str
    badge: Annotated[str, rp.Sensitive]

class Holder:
    pass

def fill(declared, before, named, field, typed, column, event, item, derived, returned, deep):
    global holder
    holder = Holder()
    holder.settings = {{"service": {{"login": {{"password": deep}}}}}}
    vault = rp.surface("vault", doc="plain-doc")
    session = vault.cell("session", Annotated[str, rp.Sensitive], default=before)
    session.set(declared)
    vault.cell("api_key", str, default=named)
    vault.cell("passcode", str, default="x4")  # too short to be known by itself
    people = vault.collection("people", dict[str, Login])
    people.update({{"ann": Login("plain-ann", field), declared: Login("plain-key")}})
    vault.cell("settings", default={{"plain": "plain-settings", "db": pydantic.SecretStr(typed)}})
    vault.cell("table", default=pandas.DataFrame({{"user": ["plain-row"], "password": [column]}}))
    vault.stream("visits", Visit).push({{"by": "plain-by", "badge": item}})
    vault.event("opened").emit({{"by": "plain-opened", "token": event}})
    vault.cell("failing", dict, default={{"password": derived}})
    log = vault.stream("log", str)
    for text in (deep, declared, before, named, field, typed, item, event, derived):
        log.push("plain-line of " + text)
    vault.expose("session", "api_key", "people", "settings", "table", "visits", "opened", "log")
    def fail(held):
        raise ValueError("plain-failure " + held["password"])
    rp.function("vault.password")(lambda: {{"plain": [returned]}})
    agent = rp.project("agent", vault, key="api_key", code="passcode", open="password",
               line=rp.mapped("log", lambda line: [line]),
               same=rp.derive(lambda held: held, "settings"), odd=rp.derive(fail, "failing"))
    rp.project("last", agent, again="code", enter="open",
               both=rp.derive(lambda line, code: [code], "line", "code"))

fill(**{CANARIES!r})
"""
PLAIN = {
    "vault/people": "plain-ann",
    "vault/settings": "plain-settings",
    "vault/table": "plain-row",
    "vault/visits": "plain-by",
    "vault/opened": "plain-opened",
    "vault/log": "plain-line of [redacted]",
    "agent/line": "plain-line of [redacted]",
    "agent/same": "plain-settings",
    "agent/odd": "plain-failure [redacted]",
    "vault/session": "[redacted]",
    "vault/api_key": "[redacted]",
    "agent/key": "[redacted]",
    "agent/code": "[redacted]",
    "last/again": "[redacted]",
    "last/both": "[redacted]",
}
"""What is shown of each member."""


def windows():
    for name, text in CANARIES.items():
        yield from ((text[at : at + WINDOW], name) for at in range(len(text) - WINDOW + 1))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_no_secret_crosses_from_any_kind_of_member(kernel, connect, mode):
    with connect("--kernel", kernel.path, "--toolsets", "surface", mode=mode) as agent:
        listed = agent.ask("list_surfaces")["result"]
        ids = [member["id"] for line in listed["items"] for member in line["members"]]
        assert sorted(ids) == sorted(PLAIN)
        # The lines of the log come first: nothing has been shown before that holds their secrets.
        for id in ["vault/log", "agent/line", "agent/odd", *ids]:
            for args in ({}, {"limit": 200}):
                reply = agent.call("read_member", member=id, **args).structured_content
                assert PLAIN[id] in json.dumps(reply), (id, reply)
                assert "[redacted]" in json.dumps(reply), (id, reply)
        for id in ("agent.open", "last.enter"):
            reply = agent.call("run_function", function=id).structured_content
            assert reply["result"]["value"] == "[redacted]"
        for key in ("ann", CANARIES["declared"], CANARIES["item"]):
            agent.call("read_member", member="vault/people", key=key)
        written = agent.record.out.decode() + agent.record.err.decode()
    # What the agent sent itself may come back to it.
    sent = {"declared", "item"}
    assert {name for part, name in windows() if part in written} <= sent
    before, _, _ = written.partition('"key"')
    assert {name for part, name in windows() if part in before} == set()
