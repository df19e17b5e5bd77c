"""Secrets whose names stand beside them: in pairs, rows, labels, cookies and byte keys."""

import json

import pytest

SHORT = "hun7r"
SETUP = f"""
import collections, http.cookiejar, http.cookies
import numpy, pandas, polars, repl_pair
from dataclasses import dataclass
from typing import Annotated
from repl_pair import Sensitive

@dataclass
class Variable:
    name: str
    value: str
    pin: Annotated[str, Sensitive] = {SHORT!r}

frame = pandas.DataFrame({{"user": ["ann"], "password": [{SHORT!r}]}})
pairs = pandas.DataFrame([["ann", {SHORT!r}]], columns=pandas.MultiIndex.from_tuples(
    [("login", "user"), ("login", "password")]))
kinds = [("user", "U8"), ("password", "U8")]
rows = numpy.array([("ann", {SHORT!r})], dtype=kinds)
jar = http.cookies.SimpleCookie()
jar["sid"] = {SHORT!r}

v_header = ("Authorization", {SHORT!r})
v_headers = [("Accept", "plain"), ("Authorization", {SHORT!r})]
v_variable = {{"name": "DB_PASSWORD", "value": {SHORT!r}}}
v_variables = [{{"key": "API_KEY", "value": {SHORT!r}, "more": "plain"}}]
v_record = Variable("DB_PASSWORD", {SHORT!r})
class Slotted:
    __slots__ = ("name", "value")
    def __init__(self, name, value): self.name, self.value = name, value
v_slotted = Slotted("DB_PASSWORD", {SHORT!r})
v_login = collections.namedtuple("Login", "user password")("plain", {SHORT!r})
v_named = collections.namedtuple("Named", "name value")("DB_PASSWORD", {SHORT!r})
v_bytes = {{b"password": {SHORT!r}, b"user": "plain"}}
v_row = frame.iloc[0]
v_labels = pandas.Series({{"user": "plain", "password": {SHORT!r}}})
v_columns = pairs
v_turned = frame.T
wide = [["user", "plain"], ["DB_PASSWORD", {SHORT!r}]]
v_wide = pandas.DataFrame(wide, columns=["name", "value"])
named = {{"name": ["DB_PASSWORD"], "value": [{SHORT!r}]}}
v_polars = polars.DataFrame(named)
v_fields = numpy.array([("DB_PASSWORD", {SHORT!r})], dtype=[("name", "U11"), ("value", "U8")])
v_twice = pandas.concat([pandas.DataFrame(named), pandas.DataFrame({{"name": ["x"]}})], axis=1)
more = {{f"c{{n}}": ["x"] for n in range(25)}}
v_far = pandas.DataFrame({{"value": named["value"], **more, "name": named["name"]}})
v_far_polars = polars.DataFrame(v_far.to_dict("list"))
v_levels = pandas.DataFrame({{("a", slot): cells for slot, cells in named.items()}})
v_late = pandas.DataFrame({{"name": ["x"] * 1_500, "value": "x"}})
v_late = pandas.concat([v_late, pandas.DataFrame(named)], ignore_index=True)
v_upright = pandas.DataFrame(named).T
v_series = v_upright[0]
v_long = pandas.concat([v_series[:1], pandas.Series(["x"] * 20), v_series[1:]])
v_nested = numpy.array([(("ann", {SHORT!r}), 1)], dtype=[("login", kinds), ("n", "i4")])
v_structured = rows
v_grid = rows.reshape(1, 1)
v_scalar = rows[0]
v_cookies = jar
v_cookie = jar["sid"]
v_jar = http.cookiejar.Cookie(0, "sid", {SHORT!r}, None, False, "plain", True, False, "/", True,
    True, None, True, None, None, {{}})
v_names = ["password", "plain"]
v_command = ["mysql", "--password", {SHORT!r}, "--no-password", "plain"]
v_words = ("curl", "--api-token", {SHORT!r})
v_key = ['KEY="-----BEGIN RSA PRIVATE KEY-----', *["line/hun7r"] * 3]
v_key += ["-----END RSA PRIVATE KEY-----"]
lines = repl_pair.surface("shop").stream("lines", str)
for line in v_key + ["plain"]: lines.push(line)
repl_pair.surface("shop").expose("lines")
v_options = ["--password", "--host", "plain"]
v_plain = ("plain", "plain")
"""
SECRET = [
    "header", "headers", "variable", "variables", "record", "bytes", "row", "labels", "columns",
    "turned", "structured", "grid", "scalar", "cookies", "cookie", "jar",
    "polars", "fields", "twice", "far", "far_polars", "levels",
    "upright", "series", "long", "nested",
    "slotted", "login", "named", "command", "words", "key",
]  # fmt: skip


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        yield agent
    assert SHORT.encode() not in agent.record.out


@pytest.mark.parametrize("name", SECRET)
def test_a_value_beside_the_name_of_a_secret_is_redacted(inspector, name):
    reply = inspector.ask("get_value", path=f"v_{name}")
    assert reply["ok"], str(reply)
    assert SHORT not in json.dumps(reply)
    assert "[redacted]" in json.dumps(reply)


@pytest.mark.parametrize(
    "path",
    [
        "frame[0]",
        "frame.password",
        "v_row[1]",
        "v_labels.password",
        "v_header[1]",
        "v_headers[1][1]",
        "v_variable.value",
        "v_variables[0].value",
        "v_scalar[1]",
        "v_record.pin",
        "v_record.value",
        "v_slotted.value",
        "v_login[1]",
        "v_login[-1]",
        "v_named[1]",
        "v_named.value",
        "v_wide.value",
        "v_wide.value[1]",
        "v_wide.iloc[1]",
        "v_wide.iloc[1, 1]",
        'v_wide.loc[1, "value"]',
        "v_wide[0:2]",
        "v_wide",
        "v_polars.value",
        "v_polars.value[0]",
        "v_fields.value",
        "v_fields.value[0]",
        "v_fields[0].value",
        "v_twice.value",
        "v_twice.iloc[0, 1]",
        "v_late.value[1500]",
        "v_late.value[1495:1501]",
        "v_upright[0]",
        "v_upright[1:2]",
        'v_upright.loc["value"]',
        "v_series.value",
        "v_series[1]",
        "v_series[1:2]",
        "v_nested[0]",
        "v_command[2]",
        "v_command[-3]",
        "v_command[2:4]",
        "v_command[::-1]",
        "v_words[2]",
        "v_key[3]",
        "v_key[3:9]",
    ],
)
def test_a_part_of_a_table_with_the_name_of_a_secret_is_redacted(inspector, path):
    assert SHORT not in json.dumps(inspector.ask("get_value", path=path))


@pytest.mark.parametrize("name", ["names", "plain", "options", "command"])
def test_words_that_are_no_pair_of_name_and_value_stay(inspector, name):
    assert "plain" in json.dumps(inspector.ask("get_value", path=f"v_{name}")["result"])


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_the_lines_of_a_private_key_in_a_stream_are_redacted_however_few_are_read(inspector, limit):
    since, entries = 0, []
    for _ in range(7):
        args = {"member": "shop/lines", "since": since, "limit": limit}
        found = inspector.ask("read_op", op="read_member", args=args)["result"]
        entries += found.get("entries", [])
        since = found["next"]
    assert entries == ['KEY="[redacted]', *["[redacted]"] * 3, *entries[4:]]
    assert entries[4:] == ["-----END RSA PRIVATE KEY-----", "plain"]
