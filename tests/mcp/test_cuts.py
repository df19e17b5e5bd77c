"""A text is searched before it is cut, or cut between words: half a secret is known as none."""

import pytest

TOKEN = "Zq7kW2mXv9LbT4nRp6YsHd3Gc8Jf5Qa1"
SETUP = f"""
import repl_pair
TOKEN = {TOKEN!r}
named = type("C" * 92 + TOKEN + "D" * 9_000, (), {{}})
long_named = named()
many_named = [named()] * 3
parts_of = type("C" * 192 + TOKEN + "D" * 90, (dict,), {{}})({{n: n for n in range(500)}})
keys = {{"k" * 190 + TOKEN: 1}}
bytes_of = type("C" * 192 + TOKEN, (bytes,), {{}})(b"x" * 10)
error = type("E" * 92 + TOKEN, (Exception,), {{}})("an error")

@repl_pair.story("cuts.takes")
def takes(n: int = 1):
    return n
@repl_pair.loader("bring")
def bring():
    return "w" * 40 + TOKEN
repl_pair.variant("cuts.takes/Misfit", args={{"n": repl_pair.ref("bring")}})

@repl_pair.story("cuts.any")
def any_value(what: str = "print"):
    if what == "print":
        print("x " * 499_990, TOKEN, "and more " * 20)
    elif what == "raise":
        raise ValueError("y " * 1_990 + TOKEN + " more" * 2_000)
    elif what == "raise_named":
        raise error
    return globals().get(what)
for what in ("print", "raise", "raise_named", "long_named", "many_named", "parts_of", "bytes_of"):
    repl_pair.variant(f"cuts.any/{{what}}", args={{"what": what}})

class Counter:
    def __init__(self, note: str = ""):
        self.note = "z " * 9_994 + TOKEN + " and on"
    def add(self, n: int = 1):
        self.count = n
repl_pair.story("cuts.counter", component=Counter)
repl_pair.variant("cuts.counter/It", play=[repl_pair.step.call("add", n=2)])
"""
WINDOW = 8


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP, SHOP_API_TOKEN=TOKEN)


def test_what_is_cut_holds_no_half_of_a_secret(kernel, connect):
    options = ("--allow", "inspect", "--toolsets", "values,story")
    with connect("--kernel", kernel.path, *options) as agent:
        agent.ask("list_variables", values=True, limit=100)
        for name in ("long_named", "many_named", "parts_of", "keys", "bytes_of", "error", "named"):
            agent.ask("get_value", path=name)
        for variant in agent.ask("list_variants", limit=100)["result"]["items"]:
            agent.ask("run_variant", variant_id=variant["id"])
            agent.ask("read_assertions", variant_id=variant["id"])
    halves = {TOKEN[at : at + WINDOW] for at in range(len(TOKEN) - WINDOW + 1)}
    written = (agent.record.out + agent.record.err).decode()
    assert [half for half in sorted(halves) if half in written] == []
    assert "[redacted]" in written
