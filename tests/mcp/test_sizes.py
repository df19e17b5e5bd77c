"""How long a secret is stands in no answer: no size, shape, dtype or count of what was left out."""

import json
import re

import pytest

SETUP = """
import string
import numpy, pandas, pydantic
import repl_pair

S = "".join(string.ascii_letters[n * 7 % 52] + str(n % 10) for n in range(69))[:137]
LONG = "\\n".join(f"{n:x}-{S[n % 60:]}" for n in range(9_000))[:450_137]
password = S
api_token = numpy.array([S])
secret = list(S)
secret_key = S.encode()
db_password = bytearray(S.encode())
credentials = pandas.Series(list(S))
pin_password = tuple(S)
private_key = LONG
typed = pydantic.SecretStr(S)
copied = S
copied_long = LONG
raw = S.encode()
raw_array = bytearray(S.encode())
raw_view = memoryview(S.encode())
texts = numpy.array([S, "b"])
raws = numpy.array([S.encode()])
scalar = numpy.str_(S)
rows = numpy.array([("a", S)], dtype=[("name", "U3"), ("value", "U137")])
frame = pandas.DataFrame({"password": [S], "n": [1]})
series = pandas.Series([S], dtype="string")
inner = {"password": list(S), "at": {"token": numpy.array(list(S))}}
@repl_pair.story("sizes.any")
def any_value(name: str = "copied"):
    return globals()[name]

NAMES = [*'''password api_token secret secret_key db_password credentials pin_password private_key
typed copied copied_long raw raw_array raw_view texts raws scalar rows frame series
inner'''.split()]
for name in NAMES:
    repl_pair.variant(
        f"sizes.any/{name}", args={"name": name}, play=[repl_pair.check.result_equals("other")]
    )
"""
SPREAD = ("secret", "credentials", "pin_password")
"""Lists of the characters of a secret, which nothing marks once a component has given them."""
LENGTH = re.compile(r"(?<![\d.])(137|138|450137|50137|450136)(?!\d)")


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    options = ("--allow", "inspect", "--toolsets", "values,story")
    with connect("--kernel", kernel.path, *options) as one:
        yield one


def lengths_in(reply):
    """Return what in an answer is as long as a secret, with what stands around it."""
    reply = {slot: part for slot, part in reply.items() if slot not in ("seq", "kernel", "boot")}
    numbers = r'"(elapsed_ms|revision|next)": ?[\d.]+|"h-[0-9a-f]+"'
    text = re.sub(numbers, "", json.dumps(reply))
    return [text[max(0, m.start() - 80) : m.end() + 20] for m in LENGTH.finditer(text)]


def test_no_answer_gives_the_length_of_a_secret(kernel, inspector):
    names = json.loads(kernel.cell("import json; print(json.dumps(NAMES))"))
    found = {}

    def look(tool, **args):
        reply = inspector.ask(tool, **args)
        assert reply["ok"], str(reply)
        if lengths := lengths_in(reply):
            found[tool, *args.values()] = lengths
        return reply["result"]

    look("list_variables", limit=100)
    look("list_variables", values=True, limit=100)
    for name in names:
        look("get_value", path=name)
        variant = f"sizes.any/{name}"
        for tool in ("run_variant", "read_assertions") if name not in SPREAD else ():
            text = json.dumps(look(tool, variant_id=variant))
            for handle in re.findall(r'"handle": ?"([\w-]+)"', text):
                look("read_more", handle=handle)
    look("get_value", path="inner.at.token")
    look("get_value", path="frame.password")
    assert found == {}, "\n".join(f"{asked}: {lengths}" for asked, lengths in found.items())
