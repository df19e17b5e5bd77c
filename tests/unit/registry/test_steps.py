"""What takes an event or a call: the runner, the guard, lint and the search for secrets agree."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.linting.checks import find_faults
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import STEPS, public_method, taker_of
from repl_pair.runtime.secrets.entries import secrets_of_entry
from repl_pair.wire import View

Pin = Annotated[str, Sensitive]
VIEW = View(principal="agent", access=frozenset({"read", "run", "write"}))


class Vault:
    def open(self, pin: str = "") -> Pin:
        return "p9-x"

    def _open(self, pin: str = "") -> Pin:
        return "p9-x"

    def act(self, act: Callable[[], Any]) -> None: ...

    def _act(self, _act: Callable[[], Any]) -> None: ...


class Ledger(dict[str, Any]):
    def __init__(self):
        super().__init__()

    def open(self, pin: Pin = "") -> Pin:
        return "p9-x"


def make() -> Vault:
    return Vault()


make.open = Vault.open


def ask(op: str, **args: Any) -> Any:
    async def request() -> Any:
        link = DirectLink()
        try:
            return await link.request(op, args, view=VIEW)
        finally:
            await link.close()

    return asyncio.run(request())


NOT_TAKEN = [(Vault, "_open"), (Ledger, "open"), (make, "open"), (None, "open"), (Vault, "shut")]


@pytest.mark.parametrize(("component", "name"), NOT_TAKEN)
def test_private_methods_and_those_of_mappings_and_functions_take_nothing(component, name):
    assert taker_of(component, name) is None
    assert public_method(component, name) is None


def test_a_handler_goes_first_and_an_agents_events_to_its_own_methods_only():
    assert taker_of(Vault, "open") is Vault.open
    assert taker_of(Vault, "open", {}) is None

    def take(live: Any) -> None: ...

    repl_pair.handler("open")(take)
    assert taker_of(Vault, "open") is taker_of(None, "open", {}) is take


@pytest.mark.parametrize(("component", "name"), NOT_TAKEN[:3])
def test_what_the_runner_dispatches_to_nothing_is_a_finding_and_is_refused_to_an_agent(
    component, name
):
    repl_pair.story("vault", component=component)
    repl_pair.variant("vault/Sent", events=[name])
    record = repl_pair.run("vault/Sent")
    assert (record.status, record.events) == ("cannot_run", ())
    assert f"Nothing handles the event {name!r}" in record.reason
    # What a function gives may have the method in its play.
    assert [fault.code for fault in find_faults()] == ["unknown-handler"] * (component is not make)
    for body in ({"events": [name]}, {"play": [["call", name]]}):
        answer = ask("register_variant", variant_id="vault/Agents", body=body)
        assert f"nothing handles {name!r}" in answer["error"]["message"]


@pytest.mark.parametrize("line", [step.dispatch("open"), step.call("open")])
@pytest.mark.parametrize("component", [Vault, make])
def test_what_a_play_expects_of_a_secret_that_a_method_gives_is_one(component, line):
    repl_pair.story("vault", component=component)
    repl_pair.variant("vault/Open", play=[line, check.path_equals("last", "p9-x")])
    assert ("play", "1", "2") in secrets_of_entry(REGISTRY.get("variant", "vault/Open"))
    assert repl_pair.run("vault/Open").status == "pass"


@pytest.mark.parametrize(("component", "name"), NOT_TAKEN[:2])
def test_what_nothing_can_give_hides_no_expectation(component, name):
    repl_pair.story("vault", component=component)
    play = [["dispatch", [name, {"pin": "1"}]], check.path_equals("last", "9")]
    repl_pair.variant("vault/Open", play=play)
    assert secrets_of_entry(REGISTRY.get("variant", "vault/Open")) == []


@pytest.mark.parametrize(
    ("name", "why"), [("act", "overrides.act takes Callable"), ("_act", "Nothing handles")]
)
def test_an_override_that_goes_out_as_an_event_is_judged_by_what_takes_it(name, why):
    repl_pair.story("vault", component=Vault)
    repl_pair.variant("vault/Acts", args_to_events={name: name})
    answer = ask("run_variant", variant_id="vault/Acts", overrides={name: "os.abort"})
    assert why in str(answer)


def test_the_words_of_each_step_are_judged_by_what_its_first_one_names():
    assert {name: row.names for name, row in STEPS.items()} == {
        "dispatch": "event",
        "wait": "",
        "set": "path",
        "call": "method",
    }
    given = {
        "dispatch": ([["add", {}]], [["add", {"n": 0}]]),
        "set": ([], ["n", None]),
        "call": (["add", {}], ["add", {"n": 0}]),
    }
    for name, (nothing, data) in given.items():
        assert (STEPS[name].hands(nothing), STEPS[name].hands(data)) == (False, True), name
    assert not STEPS["wait"].hands([5])
