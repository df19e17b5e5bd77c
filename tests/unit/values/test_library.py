"""Frames of polars and responses of HTTP clients as args and results."""

import datetime

import httpx
import httpx2
import polars
import pytest
import requests

import repl_pair
from repl_pair.errors import AuthoringError
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.values.library import columns_of, exact_columns

check = repl_pair.check
FRAME = {"n": [1, 2, None], "name": ["a", "b", "c"]}


def total(frame: polars.DataFrame) -> int:
    frame[0, "n"] = 100
    return frame["n"].sum()


def column(series: polars.Series) -> list[int]:
    return series.to_list()


def name_in(response: httpx.Response) -> str:
    response.headers["x-seen"] = "yes"
    return response.json()["name"]


def renamed(response: httpx2.Response) -> str:
    return response.json()["name"]


def fetched(response: requests.Response) -> str:
    return response.json()["name"]


def answer(kind, status=200, **headers):
    if kind is not requests:
        return kind.Response(status, json={"name": "tea"}, headers=headers)
    made = requests.Response()
    made.status_code, made._content, made.encoding = status, b'{"name": "tea"}', "utf-8"
    made.headers.update(headers)
    return made


# How to make one and another of the kind, the JSON that a caller may give, and the result.
KINDS = {
    total: (lambda: polars.DataFrame(FRAME), lambda: polars.DataFrame({"n": [1]}), FRAME, 102),
    column: (lambda: polars.Series([1, 2]), lambda: polars.Series([1, 2], dtype=polars.Int8)),
    name_in: (lambda: answer(httpx), lambda: answer(httpx, x="y"), {"json": {"name": "tea"}}),
    renamed: (lambda: answer(httpx2), lambda: answer(httpx2, 404), {"json": {"name": "tea"}}),
    fetched: (lambda: answer(requests), lambda: answer(requests, 500)),
}


@pytest.mark.parametrize("component", KINDS)
def test_each_run_gets_its_own_value_and_the_identity_goes_by_content(component):
    make, other = KINDS[component][:2]
    given = make()
    (name,) = component.__annotations__.keys() - {"return"}
    repl_pair.story("lib.values", component=component)
    repl_pair.variant("lib.values/One", args={name: given})
    repl_pair.variant("lib.values/Other", args={name: other()})
    first, again = repl_pair.run("lib.values/One"), repl_pair.run("lib.values/One")
    assert (first.status, first.result) == (again.status, again.result) == ("pass", first.result)
    assert first.result in (102, [1, 2], "tea")
    assert first.identity == again.identity
    assert repl_pair.run("lib.values/Other").identity.content_hash != first.identity.content_hash
    assert not isinstance(given, polars.DataFrame) or given["n"].to_list() == FRAME["n"]
    assert "x-seen" not in getattr(given, "headers", {})


@pytest.mark.parametrize(
    ("component", "json", "result"),
    [
        (total, FRAME, 102),
        (total, [{"n": 1}, {"n": 5}], 105),
        (column, [4, 5], [4, 5]),
        (name_in, {"json": {"name": "milk"}}, "milk"),
        (renamed, {"status_code": 404, "json": {"name": "milk"}}, "milk"),
    ],
)
def test_json_becomes_the_declared_value_of_a_library(component, json, result):
    (name,) = component.__annotations__.keys() - {"return"}
    repl_pair.story("lib.values", component=component)
    repl_pair.variant("lib.values/One", args={name: json})
    record = repl_pair.run("lib.values/One")
    assert (record.status, record.result) == ("pass", result)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: polars.DataFrame({"o": [object()]}), "its cells hold plain data"),
        (lambda: httpx.Response(200, content=iter([b"a"])), "read it first"),
        (lambda: type("Own", (polars.DataFrame,), {})(FRAME), "a body holds data only"),
    ],
)
def test_what_is_no_data_of_a_library_is_refused_with_what_to_do(value, words):
    repl_pair.story("lib.values", component=total)
    with pytest.raises(AuthoringError, match=words):
        repl_pair.variant("lib.values/One", args={"frame": value()})


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (check.result_equals(polars.DataFrame(FRAME)), ""),
        (check.result_equals(FRAME), ""),
        (
            check.result_equals(
                [{"n": n, "name": t} for n, t in zip(*FRAME.values(), strict=True)]
            ),
            "",
        ),
        (check.path_equals("result.n", [1, 2, None]), ""),
        (check.path_equals("result[1]", {"n": 2, "name": "b"}), ""),
        (check.path_equals("result.n[1]", 2), ""),
        (check.result_equals(polars.DataFrame(FRAME | {"n": [1, 3, None]})), "result.n[1]: exp"),
        (
            check.result_equals(polars.DataFrame(FRAME, schema_overrides={"n": polars.Int8})),
            "result.n: expected dtype Int8, got Int64",
        ),
        (check.result_equals(polars.DataFrame({"n": [1]})), "result.columns: expected 1 items"),
        (check.result_equals(3), "expected"),
        (check.path_equals("result.price", 2), "near: n, name"),
        (check.compare("result.name", ">=", "a"), ""),
        (check.compare("result.name", ">", "a"), "expected a value > 'a'"),
        (check.contains("result.name", "b"), ""),
        (check.approx("result", {"n": [1.0, 2.0, None], "name": ["a", "b", "c"]}), ""),
        (check.approx("result.n", [1.0, 2.5, None]), "expected about 2.5, got 2"),
    ],
)
def test_frames_of_polars_are_compared_by_content_and_read_by_path(step, reason):
    repl_pair.story("lib.values", component=lambda: polars.DataFrame(FRAME))
    repl_pair.variant("lib.values/One", play=[step])
    record = repl_pair.run("lib.values/One")
    assert record.status == ("fail" if reason else "pass")
    assert reason in record.reason


def test_a_secret_column_of_polars_is_hidden_where_a_result_is_shown():
    frame = polars.DataFrame({"name": ["a", "b"], "password": ["short", "Wq7-much-longer-9Kd"]})
    repl_pair.story("lib.values", component=lambda: {"frame": frame, "one": frame["password"]})
    repl_pair.variant("lib.values/One")
    repl_pair.run("lib.values/One")
    shown = last_result("lib.values/One").shown
    assert shown["frame"]["head"] == [
        {"name": "a", "password": "[redacted]"},
        {"name": "b", "password": "[redacted]"},
    ]
    assert shown["one"]["head"] == "[redacted]"


def test_only_columns_whose_moments_python_would_round_have_numbers():
    kind = polars.Datetime("ns")
    whole, finer = (polars.Series("t", [n, None]).cast(kind) for n in (1000, 1001))
    moment = datetime.datetime(1970, 1, 1, 0, 0, 0, 1)
    assert exact_columns(whole) == columns_of(whole)
    assert exact_columns(finer)[0][2] == [(moment, 1001), (None, None)]
    both = polars.DataFrame({"a": whole, "b": finer, "c": [1, 2]})
    assert [len(exact_columns(both)), exact_columns(both)[2]] == [3, ("c", "Int64", [1, 2])]
