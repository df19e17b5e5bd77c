"""Sent code compiled: statements and the last expression, or why it is no code."""

import pytest

from repl_pair.runtime.evaluation.compiled import (
    NO_CODE,
    compile_source,
    describe_no_code,
    is_coroutine,
)


def fault_of(source):
    with pytest.raises(NO_CODE) as raised:
        compile_source(source, "<sent>")
    return describe_no_code(raised.value, source)


@pytest.mark.parametrize(
    ("source", "has_value", "awaits"),
    [
        ("1 + 1", True, [False, False]),
        ("x = 1", False, [False]),
        ("x = 1\nx;", True, [False, False]),
        ("", False, [False]),
        ("# nothing", False, [False]),
        ("await f()", True, [False, True]),
        ("async with a: pass\nx", True, [True, False]),
        ("[y async for y in z]", True, [False, True]),
        ("'''text'''", True, [False, False]),
    ],
)
def test_the_last_expression_stands_alone_and_await_may_stand_at_the_top(source, has_value, awaits):
    code = compile_source(source, "<sent>")
    assert (code.value is not None) == has_value
    assert [is_coroutine(part) for part in code.parts] == awaits


@pytest.mark.parametrize(
    ("source", "line", "column", "code", "caret"),
    [
        ("x = = 1", 1, 5, "x = = 1", "    ^"),
        ("if 1:\n\tx = = 1", 2, 6, "\tx = = 1", "\t    ^"),
        ("f'é' 'ü' = 1", 1, 1, "f'é' 'ü' = 1", "^^^^^^^^"),
        ("x = 1\x0c\nif\n", 2, 3, "if", "  ^"),
        ("def f():\n    return (1,\n", 2, 12, "    return (1,", " " * 11 + "^"),
        ("return 5", 1, 1, "return 5", "^^^^^^^^"),
        ("a" * 400 + " b", 1, 402, "a" * 198 + " b", " " * 199 + "^"),
    ],
)
def test_a_syntax_error_has_its_line_and_a_caret_below_the_place(source, line, column, code, caret):
    fault = fault_of(source)
    assert fault["type"] in ("SyntaxError", "IndentationError")
    assert fault["message"]
    found = {slot: fault[slot] for slot in ("line", "column", "code")}
    assert found == {"line": line, "column": column, "code": code}
    assert fault["caret"].rstrip("^") + "^" == caret.rstrip("^") + "^", fault["caret"]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("%timeit f()", "run_line_magic"),
        ("%%time\nf()", "run_line_magic"),
        ("here = %pwd", "run_line_magic"),
        ("!ls", "subprocess"),
        ("files = !ls", "subprocess"),
        ("len?", "help(name)"),
        ("?len", "help(name)"),
        ("x = = 1", None),
        ("print('100%' '!' 1", None),
    ],
)
def test_what_ipython_alone_reads_is_refused_with_what_stands_for_it(source, word):
    remedy = fault_of(source).get("remedy")
    assert (word is None) == (remedy is None)
    assert word is None or (word in remedy and remedy.startswith("Plain Python only: "))


@pytest.mark.parametrize("source", ["x = '\0'", "(" * 300, "-" * 100_000 + "1", "'\ud800'"])
def test_what_cannot_be_read_at_all_is_described_too(source):
    assert fault_of(source).keys() >= {"type", "message"}


@pytest.mark.parametrize(
    ("source", "is_secret"),
    [
        ("password", True),
        ("user.password", True),
        ("config['api_key']['value']", True),
        ("users[0].token.value", True),
        ("user.name", False),
        ("check(password)", False),
        ("len(password)", False),
        ("password = 1", False),
    ],
)
def test_a_value_that_is_named_by_a_path_with_a_secret_name_is_a_secret(source, is_secret):
    assert compile_source(source, "<sent>").is_secret == is_secret
