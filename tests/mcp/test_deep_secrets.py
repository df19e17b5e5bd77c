"""Secrets that stand deep in what the person holds, and that a run prints without their names."""

import pytest

CANARY = "Rk5wQ{:02d}zT8mVb3X"
PLACES = """
a module's attribute
a class attribute
a class attribute of a module's
a class attribute of a class attribute's instance
a member of an enumeration
a private field
what a private field holds
a private attribute of a model
an extra field of a model
the third level of dicts
the sixth level of dicts
a dict of many keys
a list of many rows
a pair in a list
a name beside a value
a column of a table, beyond its first rows
a row label of a table
a named series
a structured array
a field within a field of one
a field of a slotted class
a dict of an object of a dict
a cookie
""".strip().splitlines()
SECRETS = {place: CANARY.format(at) for at, place in enumerate(PLACES)}
SETUP = (
    f"CANARIES = {list(SECRETS.values())!r}\n"
    + """
import enum, sys, types, dataclasses
from http.cookies import SimpleCookie
import numpy, pandas, pydantic
import repl_pair

s = iter(CANARIES)

settings = types.ModuleType("shop_settings")
sys.modules["shop_settings"] = settings
settings.DB_PASSWORD = next(s)

class Config:
    api_key = next(s)

exec("class Inner:\\n    token = " + repr(next(s)), vars(settings))

class Client:
    def __init__(self):
        self.auth_token = CANARIES[3]
next(s)
Config.client = Client()

class Level(enum.Enum):
    api_token = next(s)

class Private:
    def __init__(self):
        self._password = next(s)
        self._state = {"session": {"token": next(s)}}
private = [[Private()]]

class Model(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    _token: str = "none"
model = {"of": {"models": [Model(password_of="x")]}}
model["of"]["models"][0]._token = next(s)
model["of"]["models"][0].__pydantic_extra__["api_key"] = next(s)

third = {"a": {"b": {"c": {"password": next(s)}}}}
sixth = {"a": {"b": {"c": {"d": {"e": {"f": {"password": next(s)}}}}}}}
wide = {"env": {f"key {n}": n for n in range(300)} | {"client_secret": next(s)}}
rows = [{"id": n} for n in range(400)] + [{"id": 400, "passwd": next(s)}]
pairs = {"headers": [("Accept", "*/*"), ("Authorization", next(s))]}
named = {"env": [{"name": "DB_PASSWORD", "value": next(s)}]}
frame = {"tables": pandas.DataFrame({"user": range(60), "password": ["short"] * 59 + [next(s)]})}
labels = [*map(str, range(20)), "api_key"]
labelled = pandas.DataFrame({"value": ["x"] * 20 + [next(s)]}, index=labels)
series = {"tables": [pandas.Series(["short"] * 30 + [next(s)], name="token")]}
fields = [("user", "U8"), ("password", "U40")]
array = {"of": numpy.array([("u", "x")] * 20 + [("u", next(s))], dtype=fields)}
within = [(("u", "x"),)] * 20 + [(("u", next(s)),)] + [(("u", "x"),)] * 20
array["within"] = numpy.array(within, dtype=[("login", fields)])

class Slotted:
    __slots__ = ("secret_key",)
    def __init__(self, secret_key):
        self.secret_key = secret_key
slotted = {"one": {"two": Slotted(next(s))}}
nested = {"one": types.SimpleNamespace(two={"three": types.SimpleNamespace(password=next(s))})}
cookie = SimpleCookie()
cookie["session_token"] = next(s)
jar = {"cookies": cookie}
del s

@repl_pair.story("deep.log")
def log(at: int = 0):
    print("connecting with", CANARIES[at])
    raise_it = ValueError(f"refused: {CANARIES[at]}")
    return raise_it

repl_pair.variant("deep.log/Plain")
"""
)


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        yield agent


@pytest.mark.parametrize("place", PLACES)
def test_what_a_run_prints_of_a_secret_is_redacted_however_deep_it_stands(agent, place):
    at = PLACES.index(place)
    found = agent.ask("run_variant", variant_id="deep.log/Plain", overrides={"at": at})["result"]
    assert found["stdout"] == "connecting with [redacted]\n"
    assert found["result"] == {"type": "ValueError", "message": "refused: [redacted]"}
    assert SECRETS[place].encode() not in agent.record.out


def test_what_sent_code_prints_of_a_secret_is_redacted_however_deep_it_stands(
    start_own_kernel, connect
):
    # A kernel that has searched for no run yet.
    with connect("--kernel", start_own_kernel(SETUP).path, "--allow", "eval") as agent:
        for at, place in enumerate(PLACES):
            sent = agent.ask("eval_code", code=f"log({at})")["result"]
            assert (place, sent["stdout"]) == (place, "connecting with [redacted]\n")
            raised = {"type": "ValueError", "message": "refused: [redacted]"}
            assert (place, sent["value"]) == (place, raised)
            assert SECRETS[place].encode() not in agent.record.out


def test_the_status_of_a_kernel_states_how_much_the_budget_of_the_search_left_out(agent, kernel):
    assert "unsearched_parts" not in agent.ask("kernel_status")["result"]
    kernel.cell("big = {'a': {'b': list(range(50_000))}}")
    agent.ask("run_variant", variant_id="deep.log/Plain")
    assert agent.ask("kernel_status")["result"]["unsearched_parts"] >= 50_000
    kernel.cell("del big")
    agent.ask("run_variant", variant_id="deep.log/Plain")
    assert "unsearched_parts" not in agent.ask("kernel_status")["result"]
