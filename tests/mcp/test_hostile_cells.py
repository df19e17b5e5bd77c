"""Errors, outputs and code that are hostile or hold secrets, as agents read them."""

import json

import pytest

CANARY = "Xq7kW{:02d}mZv9LbT4nRp"
SETUP = """
import os, sys
RAN, READY = [], []

class Slow(Exception):
    def __str__(self):
        RAN.extend(READY)
        return "slow"

class Broken(Exception):
    def __str__(self):
        RAN.extend(READY)
        raise RuntimeError("no text")

class Endless(Exception):
    def __str__(self):
        RAN.extend(READY)
        return "e" * 20_000_000

class Text(str):
    def __str__(self):
        RAN.extend(READY)
        return self
    __len__ = __getitem__ = __str__

class Liar(Exception):
    __class__ = property(lambda self: RAN.extend(READY) or ValueError)
    args = property(lambda self: RAN.extend(READY) or ("lied",))
    __cause__ = property(lambda self: RAN.extend(READY) or self)
    __notes__ = property(lambda self: RAN.extend(READY) or ["lied"])
    __bool__ = lambda self: RAN.extend(READY) or False
    def __getattribute__(self, name):
        RAN.extend(READY)
        return Exception.__getattribute__(self, name)

class Mapping(dict):
    __getitem__ = get = keys = items = __iter__ = lambda *_: RAN.extend(READY)
"""


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP, SHOP_API_TOKEN=CANARY.format(0))


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    options = ("--allow", "inspect", "--toolsets", "values")
    with connect("--kernel", kernel.path, *options) as agent:
        yield agent


def look(kernel, inspector, code):
    """Run a cell that fails, and read it in every way; gives the error, with locals."""
    assert kernel.run(code).error is not None
    kernel.cell("READY.append(1)")
    replies = [
        inspector.ask("read_traceback"),
        inspector.ask("read_traceback", locals=True),
        inspector.ask("read_history", limit=3),
    ]
    assert all(reply["ok"] for reply in replies)
    assert all(len(json.dumps(reply)) < 20_000 for reply in replies)
    assert kernel.cell("print(RAN)\nREADY.clear()\nRAN.clear()") == "[]\n"
    return replies[1]["result"]


HOSTILE = {
    "a text that takes time, made once by IPython": ("raise Slow('x')", "slow"),
    "a text that cannot be made": ("raise Broken('x')", "no text"),
    "a text of any length": ("raise Endless('x')", "eeee"),
    "a class that lies": ("raise Liar('true')", "true"),
    "a text of a class of the person's": ("raise ValueError(Text('text'))", "text"),
    "a text that code makes, of a cause": ("raise KeyError(1) from Slow('x')", "1"),
    "variables that are hostile": (
        "def f(one, items, error):\n    raise LookupError\nf(Text('x'), Mapping(a=1), Liar())",
        "",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_reading_an_error_runs_none_of_the_persons_code(kernel, inspector, case):
    code, text = HOSTILE[case]
    found = look(kernel, inspector, code)
    assert text in str(found["message"])
    for cause in found.get("causes", ()):
        assert cause["left_out"] == "message: code of its class makes it"


def test_a_chain_that_is_a_circle_ends(kernel, inspector):
    found = look(
        kernel,
        inspector,
        "a, b = ValueError('a'), KeyError('b')\na.__cause__, b.__cause__ = b, a\nraise a",
    )
    assert [cause["type"] for cause in found["causes"]] == ["KeyError"]


def test_a_wide_and_deep_group_is_counted_and_its_first_are_shown(kernel, inspector):
    found = look(
        kernel,
        inspector,
        "one = ExceptionGroup('x', [ValueError(n) for n in range(300)])\n"
        "for _ in range(900): one = ExceptionGroup('x', [one])\n"
        "one.__traceback__ = None\ntry: raise one\n"
        "except BaseException as error: held = error\n"
        "raise OSError('wrapped') from ExceptionGroup('y', [held.exceptions[0]] * 2)",
    )
    assert found["message"] == "wrapped"


SECRETS = {
    "a variable": "password = {c!r}\nraise ValueError('no ' + password)",
    "an argument of the error": "def f(api_key):\n    raise ValueError('x', api_key)\nf({c!r})",
    "a local alone": "def f():\n    token = {c!r}\n    raise ValueError(f'no {{token}}')\nf()",
    "a note": "def f(token):\n    error = ValueError()\n    error.add_note('by ' + token)\n"
    "    raise error\nf({c!r})",
    "a literal beside a name": "def login(user, **more): raise OSError(str(more))\n"
    "login('ann', password={c!r})",
    "a literal of many lines": "private_key = '''begin\n{c}\nend'''\nraise ValueError(private_key)",
    "a literal that is not closed": "password = '{c}\n",
    "below an open bracket": "credentials = dict(\n    user='ann',\n    pin={c!r},\n)\n"
    "raise ValueError(credentials)",
    "an attribute of the error": "class Refused(Exception): pass\nerror = Refused()\n"
    "error.password = {c!r}\nraise error",
    "the environment": "%env OTHER_TOKEN={c}\nraise ValueError(os.environ['OTHER_TOKEN'])",
    "a command": "!true --token {c}\nraise ValueError('x')",
    "an input of a model": "import pydantic\nclass M(pydantic.BaseModel):\n    pin: int\n"
    "password = {c!r} * 9\nM(pin=password[3:])",
    "a cause": "def f(token):\n    raise KeyError(token)\ntry: f({c!r})\n"
    "except KeyError as error: raise ValueError('x') from error",
    "in a group": "def f(token):\n    raise KeyError(token)\ntry: f({c!r})\n"
    "except KeyError as error: raise ExceptionGroup('x', [error])",
    "what it printed": "secret_key = {c!r}\nprint('the key', secret_key)\n1 / 0",
    "a printed traceback": "import traceback\ndef f(password): 1 / 0\n"
    "try: f(password={c!r})\nexcept ZeroDivisionError: traceback.print_exc()\n1 / 0",
    "a short one shown": "password = 'x!{c:.4}'\npassword",
}


@pytest.mark.parametrize("place", SECRETS)
def test_no_secret_crosses(start_own_kernel, connect, place):
    canary = CANARY.format(1 + list(SECRETS).index(place))
    kernel = start_own_kernel(SETUP)
    options = ("--allow", "inspect", "--toolsets", "values")
    with connect("--kernel", kernel.path, *options) as agent:
        kernel.run(SECRETS[place].format(c=canary))
        kernel.run("undefined" if place == "what it printed" else "pass")
        for args in ({}, {"locals": True}):
            assert agent.ask("read_traceback", **args)["ok"]
        for args in ({}, {"match": canary[:9]}, {"match": "password", "outputs": False}):
            found = agent.ask("read_history", **args)["result"]
            assert found["total"] == 0 or canary[:9] not in args.get("match", "")
        assert len(agent.record.out) > 2_000
        assert canary[4:12].encode() not in agent.record.out
        if place == "a short one shown":
            assert b"x!" not in agent.record.out
