"""The text of an exception, where the interpreter alone makes it."""

import json
import subprocess

import httpx
import pytest

from repl_pair.runtime.reading.exceptions import (
    causes_of,
    is_named,
    leaves_of,
    notes_of,
    short_class_name,
    text_of,
)

RAN: list[str] = []


class Text(str):
    def __str__(self):
        RAN.append("str")
        return "ran"

    __repr__ = __format__ = __str__


class Own(Exception):
    def __str__(self):
        RAN.append("own")
        return "ran"


class Mine(ValueError):
    def __bool__(self):
        RAN.append("bool")
        return False

    def __getattribute__(self, name):
        RAN.append(name)
        return super().__getattribute__(name)


def made(cls, *args, **fields):
    error = cls(*args)
    for name, value in fields.items():
        setattr(error, name, value)
    return error


PLAIN = [
    ValueError("a"),
    ValueError("a", 3, None, b"x", (1, [2])),
    ValueError(),
    KeyError("a"),
    OSError(2, "gone", "f"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ImportError("no module", name="x"),
    ExceptionGroup("several", [ValueError(1)]),
]
CODE = [
    Own("a"),
    ValueError(Text("a")),
    ValueError("a", [Text("b")]),
    KeyError(Text("a")),
    OSError(2, Text("gone"), "f"),
    made(OSError, 2, "gone", "f", filename=Text("g")),
    made(UnicodeDecodeError, "utf-8", b"\xff", 0, 1, "bad", reason=Text("r")),
    ValueError(object()),
    ValueError("a" * 1_000_000),
    ValueError(10**5000),
    ValueError(list(range(5000))),
]


@pytest.mark.parametrize("error", PLAIN, ids=repr)
def test_a_text_of_plain_values_is_what_python_says(error):
    assert text_of(error) == str(error)


@pytest.mark.parametrize("error", CODE, ids=lambda error: type(error).__name__)
def test_a_text_that_code_would_make_or_that_is_long_is_none(error):
    assert text_of(error) is None
    assert RAN == []


def test_what_a_class_of_the_persons_overrides_is_not_asked():
    error, cause = Mine("text"), Mine("cause")
    error.__cause__ = cause
    error.add_note("note")
    error.__notes__ += [Text("hostile"), 3]
    RAN.clear()
    assert (text_of(error), notes_of(error, 5)) == ("text", ["note"])
    assert [id(one) for one in causes_of(error)] == [id(cause)]
    assert RAN == []


def test_the_parts_of_groups_are_found_however_deep():
    group = ExceptionGroup("x", [ValueError(1), ValueError(2)])
    for _ in range(3000):
        group = ExceptionGroup("x", [group])
    assert [error.args for error in leaves_of(group)] == [(1,), (2,)]
    assert len(leaves_of(group, 1)) == 1


class TimeoutExpired(Exception):
    pass


class Outer:
    class Inner(Exception):
        pass

    class ReadTimeout(httpx.ReadTimeout):
        pass


class Other:
    class Inner(Exception):
        pass

    class KeyError(Exception):
        pass


@pytest.mark.parametrize(
    ("cls", "name", "others"),
    [
        (KeyError, "KeyError", [Other.KeyError, LookupError]),
        (Other.KeyError, "Other.KeyError", [KeyError]),
        (json.JSONDecodeError, "json.decoder.JSONDecodeError", [ValueError]),
        (subprocess.TimeoutExpired, "subprocess.TimeoutExpired", [TimeoutExpired]),
        (httpx.ReadTimeout, "httpx.ReadTimeout", [httpx.ConnectTimeout]),
        (TimeoutExpired, "TimeoutExpired", [Own]),
        (Outer.Inner, "Outer.Inner", [Other.Inner]),
    ],
)
def test_a_class_is_known_by_a_name_that_is_of_no_other_one(cls, name, others):
    assert short_class_name(cls) == name
    assert is_named(cls, name)
    assert [other for other in others if is_named(other, name)] == []


@pytest.mark.parametrize(
    "name", ["ReadTimeout", "Outer.ReadTimeout", "httpx.ReadTimeout", "TransportError", "Exception"]
)
def test_a_class_goes_by_its_names_and_by_those_of_its_bases(name):
    assert is_named(Outer.ReadTimeout, name)
