"""What a run raised, as data: lines of the person's code, causes, and no literal secret."""

import linecache

import pytest

from repl_pair.runtime.running.raised import describe


def raised_by(source: str) -> dict[str, object]:
    lines: dict[str, object] = {}
    code = compile(source, "<cell of a test>", "exec")
    linecache.cache["<cell of a test>"] = (len(source), None, source.splitlines(True), "")
    try:
        exec(code, lines)
    except BaseException as error:
        return describe(error, {})
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('connect(password="hunter2-x")', 'connect(password="[redacted]")'),
        ("conf['password'] = 'hunter2-x' + 1", 'conf["[redacted]"] = "[redacted]" + 1'),
        ('connect("ann", 3)', 'connect("ann", 3)'),
        (r'connect(api_key="a\"hunter2-x")', 'connect(api_key="[redacted]")'),
    ],
)
def test_a_line_beside_a_name_of_secrets_shows_no_literal(line, code):
    assert raised_by(f"conf = {{}}\n{line}")["code"] == code


def test_what_is_raised_on_no_line_is_described_all_the_same():
    source = """
def stopped():
    raise ValueError("while the interpreter cleaned up")
stopped.__code__ = stopped.__code__.replace(co_linetable=b"")
stopped()"""
    error = raised_by(source)
    assert (error["line"], error["frames"][-1]["function"]) == (0, "stopped")


def test_a_long_way_is_its_last_five_lines():
    source = "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(40)"
    error = raised_by(source)
    assert [frame["function"] for frame in error["frames"]] == ["f"] * 5
    assert (error["line"], error["type"]) == (2, "ZeroDivisionError")


def test_causes_in_a_circle_are_listed_once_and_suppressed_ones_never():
    source = "a, b = ValueError('a'), KeyError('b')\na.__cause__, b.__cause__ = b, a\nraise a"
    assert [cause["type"] for cause in raised_by(source)["causes"]] == ["KeyError"]
    source = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('x') from None"
    assert "causes" not in raised_by(source)
