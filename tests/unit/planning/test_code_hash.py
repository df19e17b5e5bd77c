import functools
import gc
import importlib
import importlib.util
import json
import linecache
import os
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import repl_pair
from repl_pair.runtime.planning.identity import MAX_REACHED, UNKNOWN, edited_file, read_code
from repl_pair.runtime.planning.source_index import Index, index

ROOT = Path(__file__).parents[3]


@pytest.fixture
def define() -> Iterator[Callable[[str], dict[str, Any]]]:
    """Run a source as a notebook cell does: its text stands in linecache under a made-up name."""
    names: list[str] = []

    def run(source: str, space: dict[str, Any] | None = None) -> dict[str, Any]:
        text = textwrap.dedent(source)
        name = f"<cell {len(names)}>"
        names.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space = {"__name__": "notebook"} if space is None else space
        exec(compile(text, name, "exec"), space)
        return space

    yield run
    for name in names:
        linecache.cache.pop(name, None)


def code_hash(functions, **beside):
    return read_code(functions, **beside).hash


BASE = """
    RATE = 2

    def tax(x): return x * 2

    def total(x, y=1):
        return tax(x) + y
"""

SAME = {
    "docstring": BASE.replace("return tax(x) + y", '"""Add."""\n        return tax(x) + y'),
    "docstring below": BASE.replace("(x): return x", '(x):\n        "Twice."\n        return x'),
    "comment": BASE.replace("return tax(x) + y", "# add\n        return tax(x) + y  # here"),
    "position": "\n\n\n" + BASE,
    "formatting": BASE.replace("tax(x) + y", "(tax( x )\n            + y)"),
    "a function beside": BASE + "\n    def other(): return 1\n",
}
OTHER = {
    "body": BASE.replace("+ y", "- y"),
    "default": BASE.replace("y=1", "y=2"),
    "parameter": BASE.replace("x, y=1", "x, z=1").replace("+ y", "+ z"),
    "decorator": "    def d(f): return f\n" + BASE.replace("def total", "@d\n    def total"),
    "annotation": BASE.replace("(x, y=1)", "(x: int, y=1)"),
    "body of the helper": BASE.replace("x * 2", "x * 3"),
    "name": BASE.replace("total", "sum_up"),
    "async": BASE.replace("def total", "async def total"),
}


def hash_of(space: dict[str, Any]) -> str:
    return code_hash([space.get("total") or space["sum_up"]])


def test_the_hash_is_versioned_and_64_digits_long(define):
    scheme, _, digits = hash_of(define(BASE)).partition(":")
    assert (scheme, len(digits), set(digits) <= set("0123456789abcdef")) == ("rc1", 64, True)


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_run_does_not_show(define, what):
    assert hash_of(define(SAME[what])) == hash_of(define(BASE))


@pytest.mark.parametrize("what", OTHER)
def test_what_runs_shows(define, what):
    assert hash_of(define(OTHER[what])) != hash_of(define(BASE))


def test_a_body_that_is_only_a_docstring_equals_pass(define):
    one = define('def f():\n    "Nothing."\n')["f"]
    other = define("def f():\n    pass\n")["f"]
    assert code_hash([one]) == code_hash([other])


def chain(length: int, last: str) -> str:
    links = [f"def f{at}(): return f{at + 1}()" for at in range(length)]
    return "\n".join([*links, f"def f{length}(): return {last}"])


def test_helpers_are_followed_through_other_helpers(define):
    assert code_hash([define(chain(5, "1"))["f0"]]) != code_hash([define(chain(5, "2"))["f0"]])


def test_following_ends_at_its_bound(define):
    length = MAX_REACHED + 5
    one, other = (define(chain(length, last))["f0"] for last in "12")
    assert code_hash([one]) == code_hash([other])


DEEP = {
    "a sum": f"    return {' + '.join(['n'] * 2_500)}\n",
    "elifs": "    if n:\n        pass\n" + "    elif n:\n        pass\n" * 2_500,
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_code_that_is_nested_too_deep_to_hash_is_no_trouble_for_runs(define, deep):
    source = f"def deep(n=1):\n{deep}\ndef near(): return 1\ndef far(): return deep() and 1\n"
    space, hashes = define(source), []
    for name in ("near", "far"):
        repl_pair.story(name, component=space[name])
        repl_pair.variant(f"{name}/A")
        record = repl_pair.run(f"{name}/A")
        assert record.status == "pass"
        hashes.append(record.identity.code_hash)
    assert (hashes[0][:4], hashes[1]) == ("rc1:", UNKNOWN)


def test_functions_that_call_each_other_are_hashed(define):
    space = define(
        "def odd(n): return n and even(n - 1)\ndef even(n): return not n or odd(n - 1)\n"
    )
    assert code_hash([space["odd"]]).startswith("rc1:")


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("def h(): return 1\ndef f(): return [h() for _ in range(2)]", "1", "3"),
        ("def h(): return 1\ndef f():\n    def inner(): return h()\n    return inner()", "1", "3"),
        ("def h(f): return f\n@h\ndef f(): return 0", "return f\n", "return f or f\n"),
        ("def h(): return 1\ndef f(x=h()): return x", "1", "3"),
        ("class H:\n    x = 1\n    def m(self): ...\ndef f(): return H().x", "1", "3"),
        ("class H:\n    def m(self): ...\n    x = 1\ndef f(x: H): return x", "1", "3"),
        ("h = lambda: 1\ndef f(): return h()", "1", "3"),
        ("class H:\n    def m(self): ...\n    x = 1\ndef f(x: 'H'): return x", "1", "3"),
        ("class H:\n    def m(self): ...\n    x = 1\ndef f() -> 'list[H]': return 0", "1", "3"),
        ("class H:\n    def m(self): ...\n    x = 1\ndef f():\n    x: dict['H', int] = {}",
         "x = 1", "x = 3"),
        ("class Memo:\n    def __init__(self, fn): self.fn = fn\n"
         "    def __call__(self): return self.fn()\n@Memo\ndef h(): return 1\n"
         "def f(): return h()", "return 1", "return 3"),
        ("T = {}\ndef to(key):\n    def over(fn):\n        T[key] = fn\n    return over\n"
         "@to('a')\ndef _(): return 1\ndef f(): return T['a']()", "return 1", "return 3"),
        ("T = []\n@T.append\nclass H:\n    def m(self): ...\n    x = 1\n"
         "def f(): return T[0].x", "x = 1", "x = 3"),
        ("def make(table):\n    def over(): return table['a']()\n    return over\n"
         "def h(): return 1\nf = make({'a': h})", "return 1", "return 3"),
    ],
)  # fmt: skip
def test_a_change_in_what_is_reached_by_name_shows(define, source, old, new):
    one, other = define(source), define(source.replace(old, new))
    assert code_hash([one["f"]]) != code_hash([other["f"]])


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("R = 1\ndef f(): return R", "R = 1", "R = 2"),
        ("R = 1\ndef f(x=R): return x", "R = 1", "R = 2"),
        ("R: int = 1\ndef f(): return R", "= 1", "= 2"),
        ("R = {'a': [1]}\ndef f(): return R", "[1]", "[2]"),
        ("if True:\n    R, S = 1, 0\ndef f(): return R", "R, S = 1", "R, S = 2"),
        ("R = 1\nR += 1\ndef f(): return R", "+= 1", "+= 2"),
        ("R = {}\nR['a'] = 1\ndef f(): return R", "= 1", "= 2"),
        ("import types\nR = types.SimpleNamespace()\nR.a = 1\ndef f(): return R", "= 1", "= 2"),
        ("from decimal import Decimal\nfrom functools import partial\ndef h(n): return n\n"
         "f = partial(h, Decimal('1'))", "'1'", "'2'"),
        ("from enum import Enum\nC = Enum('C', 'A B')\ndef make(one):\n"
         "    def over(): return one\n    return over\nf = make(C.A)", "C.A", "C.B"),
        ("for R in (1, 2): pass\ndef f(): return R", "(1, 2)", "(1, 3)"),
        ("R = []\nR.append(1)\ndef f(): return R", "(1)", "(2)"),
        ("R = {}\nR.setdefault('a', []).append(1)\ndef f(): return R", "d(1)", "d(2)"),
        ("R = []\nfor _ in (1, 2): R.append(1)\ndef f(): return R", "(1, 2)", "(1, 3)"),
        ("R = {1: 2}\ndel R[1]\ndef f(): return R", "del R[1]\n", ""),
        ("class K:\n    n = 1\n    def m(self): ...\ndel K.n\ndef f(): return K", "del K.n\n", ""),
        ("R = 1\nif f'':\n    R = 2\n    R = 3\ndef f(): return R", "    R = 3", "R = 3"),
        ("R = 1\nif f'':\n    R = 2\ndef f(): return R", "    R", "    pass\nelse:\n    R"),
        ("R = 0\nfor _ in '':\n    R += 1\n    R += 2\ndef f(): return R", "    R += 2", "R += 2"),
        ("R = 0\nfor _ in 'a':\n    if f'':\n        R += 1\n    R += 2\ndef f(): return R",
         "    R += 2", "        pass\n        pass\n        R += 2"),
        ("try:\n    R = 1\n    def R(): pass\n    R = 1\nfinally: pass\ndef f(): return R",
         "R = 1\nfinally", "pass\nfinally"),
        ("for R in (1, 2):\n    print()\ndef f(): return R", "print()", "break"),
        ("match 1:\n    case 1: R = 1\n    case _: R = 2\ndef f(): return R", "match 1", "match 2"),
        ("R = 1\nmatch 1:\n    case 1: pass\n    case _: R = 2\ndef f(): return R",
         "case 1", "case 2"),
        ("R = 0\ntry:\n    print()\nexcept KeyError:\n    R = 1\ndef f(): return R",
         "Key", "Index"),
        ("R = 0\ntry:\n    int('1')\nexcept ValueError:\n    R = 1\ndef f(): return R",
         "'1'", "'a'"),
        ("try:\n    print()\nexcept OSError: pass\nelse:\n    R = 1\ndef f(): return R",
         "else", "finally"),
        ("from contextlib import suppress\nR = 0\nwith suppress(ValueError):\n    int('1')\n"
         "    R = 1\ndef f(): return R", "'1'", "'a'"),
        ("print(R := 1)\ndef f(): return R", "= 1", "= 2"),
        ("if (R := 1): pass\ndef f(): return R", "= 1", "= 2"),
        ("from contextlib import nullcontext as h\nwith h(1) as R: pass\ndef f(): return R",
         "h(1)", "h(2)"),
        ("F = 1\nif F:\n    R = 1\nelse:\n    R = 2\ndef f(): return R", "F = 1", "F = 0"),
        ("F = 1\nif F:\n    def h(): return 1\nelse:\n    def h(): return 2\n"
         "def f(): return h()", "F = 1", "F = 2"),
        ("import math as R\nR = R if 1 else 0\ndef f(): return R", "if 1", "if 2"),
        ("import math as R\ndef f(): return R.pi", "math", "cmath"),
        ("import os, posixpath as R\ndef f(): return R", "posixpath", "ntpath"),
        ("import os.path, json\ndef f(): return os", "os.path", "os"),
        ("from posixpath import join\ndef f(): return join", "posixpath", "ntpath"),
        ("from posixpath import *\ndef f(): return join", "posixpath", "ntpath"),
        ("class K:\n    def m(self): ...\nK.z = 1\ndef f(): return K.z", "= 1", "= 2"),
        ("class f:\n    def m(self): ...\nf.z = 1", "= 1", "= 2"),
        ("def h(): pass\nh.n = 1\ndef f(): return h", "= 1", "= 2"),
        ("def f(): pass\nf.n = 1", "= 1", "= 2"),
        ("def f(): return f\nsetattr(f, 'n', 1)\nf.__dict__.update(n=1)", "n=1", "n=2"),
        ("class K:\n    def m(self): ...\ndef g(self): pass\ndef st(self, n): print(1)\n"
         "K.p = property(g, st)\n"
         "def f(): return K", "print(1)", "print(2)"),
        ("from functools import partial\nclass K:\n    def __init__(self, n): pass\n"
         "f = partial(K, 1)", "K, 1", "K, 2"),
        ("from functools import partial\nfrom collections import namedtuple\n"
         "class K(namedtuple('B', 'x')):\n    def m(self): ...\nf = partial(K, 1)", "K, 1", "K, 2"),
        ("rows = [1]\ndef f(): return [rows for rows in rows]", "[1]", "[2]"),
        ("B = 1\nR = B * 2\ndef f(): return R", "B = 1", "B = 2"),
        ("def h(n): return n\nR = h(1)\ndef f(): return R", "return n", "return -n"),
        ("R = 1\nclass f:\n    def m(self): return R", "R = 1", "R = 2"),
        ("R = 1\ndef f():\n    global R\n    R += 1\n    return R", "R = 1", "R = 2"),
        ("def h(n): return n\ng = lambda n, by=1: h(n)\ndef f(): return g(1)", "by=1", "by=2"),
        ("from functools import partial\ndef h(n): return n\ng = partial(h, 1)\n"
         "def f(): return g()", "h, 1", "h, 2"),
        ("from functools import partial\ndef h(n): return n\nf = partial(h, 1)", "h, 1", "h, 2"),
        ("from functools import partial\ndef h(n): return n\nf = partial(h, n=1)", "n=1", "n=2"),
        ("from functools import partial\ndef p(): return 1\ndef h(n): return n()\n"
         "f = partial(h, p)", "return 1", "return 2"),
        ("def make(rate):\n    def h(n): return n * rate\n    return h\nf = make(1)",
         "make(1)", "make(2)"),
        ("def make(rate):\n    def h(n, by=rate): return n * by\n    return h\nf = make(1)",
         "make(1)", "make(2)"),
        ("f, g = [lambda n, by=by: n * by for by in (1, 2)]", "(1, 2)", "(3, 2)"),
        ("from functools import wraps\ndef times(n):\n    def over(fn):\n"
         "        @wraps(fn)\n        def inner(): return fn() * n\n        return inner\n"
         "    return over\ndef h(): return 1\nf = times(1)(h)", "times(1)", "times(2)"),
        ("from functools import partial\nimport json\ng = partial(json.dumps, indent=1)\n"
         "def f(): return g(1)", "indent=1", "indent=2"),
        ("import statistics\nG = statistics.mean\ndef f(): return G", ".mean", ".median"),
        ("from statistics import mean as g\ndef f(): return g", "mean as", "median as"),
        ("from math import e as R\ndef f(): return R", "e as", "pi as"),
        ("def p(n): return n\ndef f(n): return max(n, key=lambda p: p), p(n)",
         "return n\n", "return -n\n"),
        ("def p(n): return n\ndef f(n):\n    def inner(p): return p\n    return p(n)",
         "return n\n", "return -n\n"),
        ("def p(n): return n\ndef f(n): return [p for p in n], p(n)",
         "return n\n", "return -n\n"),
        ("R = 1\ndef f(n):\n    class Local: R = 2\n    return R", "R = 1", "R = 3"),
        ("R = 1\ndef f(n):\n    def inner():\n        R = 2\n    return R", "R = 1", "R = 3"),
        ("from functools import singledispatch\n@singledispatch\ndef f(n): return n\n"
         "@f.register\ndef _(n: str): return 1", "return 1", "return 2"),
        ("from functools import singledispatch\n@singledispatch\ndef h(n): return n\n"
         "@h.register\ndef _(n: str): return 1\ndef f(): return h('')", "return 1", "return 2"),
    ],
)  # fmt: skip
def test_a_change_in_what_a_function_reads_or_was_made_with_shows(define, source, old, new):
    assert source.count(old) == 1
    one, again, other = define(source), define(source), define(source.replace(old, new))
    assert code_hash([one["f"]]).startswith("rc1:")
    assert code_hash([one["f"]]) == code_hash([again["f"]])
    assert code_hash([one["f"]]) != code_hash([other["f"]])


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("R = 1\ndef f(): return 0", "R = 1", "R = 2"),
        ("x = 1\ndef f(x): return x", "x = 1", "x = 2"),
        ("x = 1\ndef f(*, y: int = 0, **x): return x", "x = 1", "x = 2"),
        ("x = 1\ndef f():\n    x = 3\n    return x", "x = 1", "x = 2"),
        ("x = 1\ndef f(): return [x for x in ()]", "x = 1", "x = 2"),
        ("x = 1\ndef f():\n    for x in (): print(x)", "x = 1", "x = 2"),
        ("x = 1\ndef f(): return (lambda x: x)", "x = 1", "x = 2"),
        ("x = 1\ndef f(y): return y.x", "x = 1", "x = 2"),
        (
            "if 1:\n    x = 1\n    import re\n    y = 1\ndef f(): return x",
            "re\n    y",
            "io\n    z",
        ),
        (
            "try:\n    x = 1\n    def y(): return 1\nfinally: pass\ndef f(): return x",
            "n 1\n",
            "n 2\n",
        ),
        ("import math as x\ndef f():\n    import json as x\n    return x", "math", "cmath"),
        (
            "import os.path as x\ndef f():\n    from json import loads as x\n    return x",
            "os.",
            "posix",
        ),
        ("x = 1\ndef f():\n    def x(): pass\n    return x", "x = 1", "x = 2"),
        ("x = 1\ndef f():\n    class x: pass\n    return x", "x = 1", "x = 2"),
        ("x = 1\ndef f():\n    try: pass\n    except OSError as x: return x", "x = 1", "x = 2"),
        (
            "x = y = z = 1\ndef f(n):\n    match n:\n        case [x, *y]: return x, y\n"
            "        case {1: _, **z}: return z",
            "z = 1",
            "z = 2",
        ),
        (
            "class K:\n    @staticmethod\n    def n(x): pass\ndef f(): return K\nK.n(1)\n"
            "import json as q\nq.dumps(1)\ndef main(): return q\ng = main()\nmain()",
            "q.dumps(1)",
            "q.loads('1')",
        ),
    ],
)
def test_a_change_of_a_name_that_code_does_not_read_does_not_show(define, source, old, new):
    one, other = define(source), define(source.replace(old, new))
    assert code_hash([one["f"]]) == code_hash([other["f"]])


def test_a_long_chain_of_tests_is_read_in_the_time_of_its_length():
    """The cube of that takes minutes."""
    begun = time.thread_time()
    branches = "".join(f"elif N == {at}: R[{at}] = {at}\n" for at in range(900))
    found = index(f"R = {{}}\nif 0: pass\n{branches}").assignments["R"]
    assert (len(found) > 900, time.thread_time() - begun < 4) == (True, True)


def test_the_names_of_a_block_that_counts_whole_share_one_node():
    names = "".join(f"    V{at} = None\n" for at in range(9))
    found = index(f"V1 = 0\nwith open('x'):\n{names}    def h(): pass\n").assignments
    (shared,) = found["V0"]
    assert [found["V1"][1], found["h"][-1]] == [shared, shared]


def test_what_a_run_changes_does_not_show(define):
    """Else each run would make its own result one of older code."""
    space = define("N, SEEN = 0, []\ndef f():\n    global N\n    N += 1\n    SEEN.append(N)\n")
    before = code_hash([space["f"]])
    space["f"]()
    assert (space["N"], code_hash([space["f"]])) == (1, before)
    made = define("def make(n, by):\n    def add():\n        nonlocal n\n        n += by\n"
                  "    def f():\n        add()\n        return n\n    return f, add\n")  # fmt: skip
    for at in (0, 1):
        count = made["make"](0, 1)
        before = code_hash([count[at]])
        count[0]()
        assert (count[0](), code_hash([count[at]])) == (2, before)


def nested(depth):
    return functools.reduce(lambda inner, at: (at, inner), range(depth), ())


@pytest.mark.parametrize(
    "value",
    [2**44497 - 1, nested(2000), (1,) * 1_000_000, "a" * 1_000_000, object(), [1], float("nan")],
    ids=["an int", "deep", "wide", "a text", "an object", "a list", "nan"],
)
def test_whatever_a_callable_was_made_with_there_is_a_hash(define, value):
    space = define("def h(n, *more): return n\ndef make(n):\n    def f(m=0): return n, m\n"
                   "    return f\nclass C:\n    def m(self, n): ...\n")  # fmt: skip
    made = space["make"](value)
    made.__defaults__ = (1, 2, 3)
    partials = [functools.partial(space[name], value, value) for name in ("h", "C")]
    assert code_hash([made, *partials, functools.partial(space["C"]().m, value)])[:4] == "rc1:"


def test_what_a_partial_gives_under_a_secret_name_is_a_marker_only(define):
    space = define(
        "def h(password, *passcode): return 1\nclass C:\n    def m(self, passcode): ...\n"
    )
    hashes = {
        code_hash([functools.partial(space["h"], *secrets)])
        for secrets in (("hunter2", "0427"), ("hunter3", "0428"))
    }
    assert len(hashes) == 1
    bound = {code_hash([functools.partial(space["C"]().m, pin)]) for pin in ("0427", "0428")}
    assert len(bound) == 1


def test_one_name_in_two_modules_is_two_names(define):
    source = "R = {}\ndef f(): return R"
    one, other, third = (define(source.format(rate))["f"] for rate in (1, 2, 3))
    assert code_hash([one, other]) != code_hash([one, third])


def test_a_secret_that_a_callable_was_made_with_is_a_marker_only(define):
    source = "def make(api_key):\n    def h(): return api_key\n    return h\ng = make('a')\nh = 1"
    one, other = define(source)["make"]("hunter2"), define(source)["make"]("hunter3")
    assert code_hash([one]) == code_hash([other])


def test_an_imported_function_is_not_followed(define):
    space = define("from textwrap import dedent\ndef f(): return dedent('')\n")
    before = code_hash([space["f"]])
    exec("def dedent(text): return 1", other := {"__name__": "other"})
    space["dedent"] = other["dedent"]
    assert code_hash([space["f"]]) == before


def test_what_the_name_means_today_is_hashed(define):
    space = define(BASE)
    before = hash_of(space)
    tax = define("def tax(x): return 0\n")["tax"]
    space["tax"] = tax
    assert hash_of(space) != before


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: functools.partial(f),
        lambda f: functools.lru_cache(f),
        lambda f: functools.wraps(f)(lambda: 0),
        lambda f: staticmethod(f),
        lambda f: f.__get__(1),
    ],
    ids=["partial", "lru_cache", "wraps", "staticmethod", "bound"],
)
def test_a_wrapped_function_counts_as_the_function(define, wrap):
    total = define(BASE)["total"]
    assert code_hash([wrap(total)]) == code_hash([total])


def test_a_wrapped_helper_is_followed(define):
    cached = "import functools\n" + textwrap.dedent(BASE).replace(
        "def tax", "@functools.lru_cache\ndef tax"
    )
    assert hash_of(define(cached)) != hash_of(define(cached.replace("* 2", "* 3")))


def test_a_function_in_a_closure_is_followed(define):
    source = """
        def make():
            def inner(): return 1
            def outer(): return inner()
            return outer
        f = make()
    """
    other = source.replace("return 1", "return 2")
    assert code_hash([define(source)["f"]]) != code_hash([define(other)["f"]])


CLASS = """
    class Order:
        "What was bought."
        rate: int = 1

        @property
        def total(self): return self.rate
"""


@pytest.mark.parametrize("part", ["rate: int = 1", "self.rate", "@property", "Order:"])
def test_every_part_of_a_class_but_its_docstring_shows(define, part):
    changed = {"@property": "@classmethod", "Order:": "Order(Exception):"}.get(part, part + "0")
    one, other = define(CLASS), define(CLASS.replace(part, changed))
    assert code_hash([one["Order"]]) != code_hash([other["Order"]])
    without = define(CLASS.replace('"What was bought."', ""))
    assert code_hash([one["Order"]]) == code_hash([without["Order"]])


CARTS = """
    from dataclasses import dataclass
    from functools import total_ordering
    def logged(f): return lambda *given: f(*given)
    @total_ordering
    @dataclass
    class Base:
        n: int = 0
        def add(self, sku): self.n += 1
        def __lt__(self, other): return self.n < other.n
        plus = add
        last = property(lambda self: self.n)
    class Cart(Base):
        def end(self): pass
    def total(): return Cart()
"""


@pytest.mark.parametrize(
    "later",
    [
        "def add(self, sku): self.n += 2\nBase.add = add",
        "Base.add = lambda self, sku: None",
        "Base.last = property(lambda self: 1)",
        "def make(): return 1\nCart.make = staticmethod(make)",
        "Cart.add = logged(Base.add)",
    ],
)
def test_a_method_that_is_set_on_a_class_later_shows(define, monkeypatch, later):
    module = ModuleType("carts")
    monkeypatch.setitem(sys.modules, "carts", module)
    space = define(CARTS, vars(module))
    before = [code_hash([space[name]]) for name in ("Cart", "total")]
    assert UNKNOWN not in before
    define("def beside(self): pass", space)
    assert [code_hash([space[name]]) for name in ("Cart", "total")] == before
    define(later, space)
    after = [code_hash([space[name]]) for name in ("Cart", "total")]
    assert not {UNKNOWN, *before} & {*after}


def test_the_order_of_roots_shows(define):
    space = define(BASE)
    pair = [space["tax"], space["total"]]
    assert code_hash(pair) != code_hash(pair[::-1])
    assert code_hash(pair) == code_hash(list(pair))


def test_without_source_the_hash_is_unknown(define):
    space: dict[str, Any] = {"__name__": "notebook"}
    exec("def f(): return 1\nclass C:\n    x = 1", space)
    assert code_hash([space["f"]]) == UNKNOWN
    assert code_hash([space["C"]]) == UNKNOWN
    assert code_hash([len]) == UNKNOWN
    total = define(BASE)["total"]
    assert code_hash([total, len]) == UNKNOWN


def test_a_helper_without_source_makes_the_hash_unknown(define):
    space = define(BASE)
    exec("def tax(x): return x", space)
    assert hash_of(space) == UNKNOWN


def test_source_that_does_not_parse_is_unknown(define):
    space = define("def f(): return 1\n")
    name = space["f"].__code__.co_filename
    linecache.cache[name] = (3, None, ["def f(:\n"], name)
    assert code_hash([space["f"]]) == UNKNOWN


MODULE = """
from collections import namedtuple
from dataclasses import dataclass

Point = namedtuple("Point", "x y")

@dataclass
class Order:
    rate: int = 1

def render(order: Order): return Point(order.rate, 1)
"""


def load(path: Path, name: str) -> dict[str, Any]:
    """Run a file as an imported module and give what it defines."""
    module = type(sys)(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    return vars(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [("rate: int = 1", "rate: int = 2"), ('"x y"', '"x z"'), ("order.rate, 1", "order.rate, 2")],
)
def test_an_edited_and_reloaded_module_shows(tmp_path, monkeypatch, old, new):
    monkeypatch.setitem(sys.modules, "pricing_of_a_test", None)
    path = tmp_path / "pricing_of_a_test.py"
    path.write_text(MODULE)
    before = code_hash([load(path, "pricing_of_a_test")["render"]])
    assert before.startswith("rc1:")
    path.write_text(MODULE.replace(old, new) + "\n")
    os.utime(path, (1, 1))
    assert code_hash([load(path, "pricing_of_a_test")["render"]]) != before


def test_of_the_versions_of_a_file_that_were_reloaded_one_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "often_edited.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def count_versions(number):
        path.write_text(f"def total(): return {number}\n")
        linecache.checkcache(str(path))
        module = importlib.import_module("often_edited")
        assert code_hash([importlib.reload(module).total]) != UNKNOWN
        gc.collect()
        return sum(type(each) is Index and "total" in each.named for each in gc.get_objects())

    first, *later = map(count_versions, range(100, 1_000_000, 200_000))
    assert later == [first] * len(later)


def test_a_class_of_data_that_is_edited_and_not_reloaded_is_named(tmp_path, monkeypatch):
    path = tmp_path / "edited_sizes.py"
    path.write_text("from enum import Enum\nclass Size(Enum):\n    SMALL = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    sizes = importlib.import_module("edited_sizes")
    repl_pair.story("sizes.of", component=lambda size: size)
    repl_pair.variant("sizes.of/It", args={"size": sizes.Size.SMALL})
    assert repl_pair.run("sizes.of/It").reason == ""
    path.write_text("from enum import Enum\nclass Size(Enum):\n    SMALL = 1_000\n")
    assert str(path) in repl_pair.run("sizes.of/It").reason
    monkeypatch.delitem(sys.modules, "edited_sizes")


ITEMS = """
from dataclasses import dataclass
from typing import TypedDict

@dataclass
class Item:
    price: float = 1.0
    def gross(self): return self.price * 2

@dataclass
class Order:
    items: list[Item]

class Page(TypedDict):
    order: Order | None
"""


@pytest.mark.parametrize(
    ("hint", "arg"),
    [
        ("Item", "Item()"),
        ("Item", "{'price': 2.0}"),
        ("Item | None", "Item()"),
        ("dict[str, list[Item]]", "{'a': [Item()]}"),
        ("Order", "Order([Item()])"),
        ("Page", "{'order': {'items': [{}]}}"),
        ("object", "Item()"),
    ],
)
def test_the_class_of_an_arg_shows_however_it_is_declared(tmp_path, monkeypatch, hint, arg):
    path = tmp_path / "items_of_a_test.py"
    path.write_text(ITEMS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    items = importlib.import_module("items_of_a_test")

    def component(given):
        return given

    component.__annotations__ = {"given": eval(hint, vars(items))}
    repl_pair.story("items.of", component=component)
    repl_pair.variant("items.of/It", args={"given": eval(arg, vars(items))})
    before = repl_pair.snapshot_identity("items.of/It").code_hash
    path.write_text(ITEMS.replace("* 2", "* 3"))
    linecache.checkcache(str(path))
    assert str(path) in repl_pair.run("items.of/It").reason
    importlib.reload(items)
    assert repl_pair.snapshot_identity("items.of/It").code_hash not in (before, UNKNOWN)
    del sys.modules["items_of_a_test"]


EDITED = """
def kept(fn): return fn

RATE = 3

def times(x, n=4): return x * n * RATE

@kept
def twice(x): return times(x, 2)

class Order:
    rate = 7
    def total(self): return 1
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x, 2)", "x, 3)"),
        ("return x * n", "return x + n"),
        ("RATE = 3", "RATE = 4"),
        ("return 1", "return 1 is 2"),
        ("n=4", "n=5"),
        ("@kept\n", "@(kept)\n@kept\n"),
        ("rate = 7", "rate = 8"),
    ],
    ids=["function", "helper", "constant", "method", "default", "decorator", "attribute"],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("is_read", [True, False], ids=["hashed before", "registered before"])
def test_a_module_that_is_edited_and_not_reloaded_has_no_hash(
    tmp_path, monkeypatch, old, new, is_read
):
    """The hash of what stands in the file would be that of a code which has not run."""
    path = tmp_path / "edited_shop.py"
    path.write_text(EDITED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "edited_shop", raising=False)
    module = importlib.import_module("edited_shop")
    roots = [module.twice, module.Order]
    if is_read:
        before = code_hash(roots)
        assert (before[:4], edited_file(roots)) == ("rc1:", "")
    else:
        for number, root in enumerate(roots):
            repl_pair.story(f"edited.of_{number}", component=root)
    path.write_text(EDITED.replace(old, new) + "# of another size\n")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        assert (code_hash(roots), edited_file(roots)) == (UNKNOWN, str(path))
        assert (shown, warnings.filters) == ([], filters)
    importlib.reload(module)
    after = [module.twice, module.Order]
    assert code_hash(after).startswith("rc1:")
    assert edited_file(after) == ""
    path.write_text(EDITED)
    assert code_hash(after) == UNKNOWN
    if is_read:
        importlib.reload(module)
        assert code_hash([module.twice, module.Order]) == before


ASKED = """
class Meta(type):
    def asked(self, *_): raise ValueError("asked")
    {asked}

class Kept(metaclass=Meta): pass

class Lazy:
    @property
    def __class__(self): raise ValueError("set up first")

kept, lazy = Kept(), Lazy()
def render(x=1): return x, Kept, kept, lazy
"""


@pytest.mark.parametrize(
    "asked",
    [
        *("__bool__ = asked", "__eq__ = asked", "__hash__ = asked", "__getattribute__ = asked"),
        *("__instancecheck__ = asked", "__class__ = property(asked)"),
        "__module__ = property(asked)",
    ],
)
def test_what_a_function_reads_is_asked_nothing(tmp_path, monkeypatch, asked):
    """Such as the settings of a framework, which are read when their class is asked for."""
    monkeypatch.setitem(sys.modules, "asked_of_a_test", None)
    path = tmp_path / "asked_of_a_test.py"
    path.write_text(ASKED.format(asked=asked))
    space = load(path, "asked_of_a_test")
    roots = [space["render"], space["Kept"], functools.partial(space["render"], space["Kept"])]
    assert code_hash(roots).startswith("rc1:")


CELLS = """
import json
from IPython.core.interactiveshell import InteractiveShell
from repl_pair.runtime.planning.identity import read_code

shell = InteractiveShell.instance()

def hashes(*cells):
    for cell in cells:
        shell.run_cell(cell, store_history=STORED).raise_error()
    names = shell.user_ns
    return [read_code([names[name]]).hash for name in ("render", "Order", "Bare")]

HELPER = "def helper(x):\\n    return x\\n"
RENDER = "%time 1\\ndef render(order):\\n    'Doc.'\\n    return helper(order)\\n"
ORDER = "class Order:\\n    rate = 1\\n    def total(self): return helper(self.rate)\\n"
BARE = "from dataclasses import dataclass\\n@dataclass\\nclass Bare:\\n    rate: int = 1\\n"
print(json.dumps([
    hashes(HELPER, RENDER, ORDER, BARE),
    hashes("# a comment\\n" + RENDER.replace("'Doc.'", "'Other.'"), "\\n" + ORDER, BARE + "\\n#"),
    hashes(BARE.replace("= 1", "= 2")),
    hashes(HELPER.replace("return x", "return -x")),
    hashes(HELPER, *([BARE] if STORED else [])),
    hashes("RATE = 1\\n", "def render(order): return order * RATE"),
    hashes("0, RATE\\nRATES = RATE"),
    hashes("RATE = 2"),
    *map(hashes, ["%%time\\n1\\nRATE = 3", "%time RATE = 4"]),
    hashes("%%capture\\n%prun -q -l 5 1\\n%time -n RATE = 5"),
    *map(hashes, ["__file__ = 'notebook.py'", "RATE = 6", "%%timeit -n1 -r1\\nRATE = 7"]),
]))
"""


def run_script(script: str, folder: Path) -> list[str]:
    """Run a script in a process and a folder of its own; give the lines that it prints."""
    environment = os.environ | {"IPYTHONDIR": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("stored", [True, False], ids=["with history", "without history"])
def test_functions_and_classes_of_notebook_cells_are_hashed(tmp_path, stored):
    printed = run_script(CELLS.replace("STORED", str(stored)), tmp_path)
    every = json.loads(printed[-1])
    assert all(each.startswith("rc1:") for hashes in every for each in hashes)
    first, cosmetic, bare, helper, back, *rates = every
    assert cosmetic == first
    assert (bare[:2], bare[2] != first[2]) == (first[:2], True)
    assert (helper[0] != first[0], helper[1] != first[1], helper[2]) == (True, True, bare[2])
    assert back == (first if stored else [*first[:2], bare[2]])
    assert rates[0] == rates[1]
    assert (rates[0][0] != rates[2][0], rates[0][1:]) == (True, rates[2][1:])
    of_magics = [each[0] for each in rates[2:]]
    if not stored:  # without one, what a magic runs has left no text
        return
    assert len(set(of_magics)) == 5
    assert of_magics[3:6:2] == of_magics[4:7:2]


DISPLAYED = """
import sys
from pathlib import Path

sys.path.insert(0, "")
Path("shown.py").write_text('''import repl_pair as rp
from IPython.display import display

@rp.story("shown")
def show(): display(1)

rp.variant("shown/A")
''')
import shown
runs = [shown.rp.snapshot_identity("shown/A"), shown.rp.run("shown/A").identity]
runs.append(shown.rp.snapshot_identity("shown/A"))
print(len({each.code_hash for each in runs}), runs[0].code_hash[:4])
"""


def test_a_run_changes_no_hash_of_what_displays(tmp_path):
    """Outside a kernel the first run hooks the functions of IPython."""
    assert run_script(DISPLAYED, tmp_path) == ["1 rc1:"]


AUTORELOAD = """
import os, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from repl_pair.runtime.planning.identity import read_code, edited_file

sys.path.insert(0, os.getcwd())
shop = Path("reloaded_shop.py").absolute()
first = "def price(n=1): return n\\n\\nclass Order:\\n    rate: int = 7\\n"
shop.write_text(first)
shell = InteractiveShell.instance()
for cell in ("%load_ext autoreload", "%autoreload 2", "from reloaded_shop import Order, price"):
    shell.run_cell(cell).raise_error()
price, order = shell.user_ns["price"], shell.user_ns["Order"]
print(read_code([price]).hash[:4], read_code([order]).hash[:4])
shop.write_text(first.replace("n=1", "n=20").replace("= 7", "= 80"))
print(edited_file([price]) == edited_file([order]) == str(shop))
shell.run_cell("pass").raise_error()
print(price(), order.rate, [edited_file([price]), edited_file([order])])
print(read_code([price]).hash[:4], read_code([order]).hash[:4])
"""


def test_what_autoreload_changed_in_place_has_a_hash_again(tmp_path):
    """The function and the class stay the same objects."""
    assert run_script(AUTORELOAD, tmp_path) == [
        "rc1: rc1:",
        "True",
        "20 80 ['', '']",
        "rc1: rc1:",
    ]


NOT_RELOADED = """
import os, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from repl_pair.runtime.planning.identity import read_code

sys.path.insert(0, os.getcwd())
shop = Path("late_shop.py").absolute()
first = '''RATE, N = 1, 0
def kept(fn): return fn
@kept
def price():
    global N
    N += RATE
    return N
class Order:
    rate = 1
    def total(self): return 1
'''
shop.write_text(first)
import late_shop

def report():
    print(*[read_code([one]).hash[:4] for one in (late_shop.price, late_shop.Order)])

def edit(*changes):
    text = first
    for change in changes:
        text = text.replace(*change)
    shop.write_text(text)
    os.utime(shop, (os.stat(shop).st_mtime + 9,) * 2)

report()
edit(("1, 0", "5, 0"), ("rate = 1", "rate = 9"))
report()
shell = InteractiveShell.instance()
for cell in ("%load_ext autoreload", "%autoreload 2"):
    shell.run_cell(cell).raise_error()
report()
edit()
report()
edit(("1, 0", "5, 10"))
late_shop.price()
report()
shell.run_cell("pass").raise_error()
report()
"""


def test_what_autoreload_did_not_load_stays_edited_also_where_a_run_binds_it(tmp_path):
    """It takes a file that was edited before it came for what is loaded."""
    edited = ["unkn unkn"] * 2
    assert run_script(NOT_RELOADED, tmp_path) == [
        *("rc1: rc1:", *edited, "rc1: rc1:", "unkn rc1:", "rc1: rc1:")
    ]


PATCHED = """
import os, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from repl_pair.runtime.planning.identity import read_code, edited_file

sys.path.insert(0, os.getcwd())
shop = Path("patched_shop.py").absolute()
text = '''import json

def helper(n):
    return n + 1

class Cart:
    rate = 1
    def add(self, n=1):
        def inner():
            return n + 1
        return helper(inner())
'''
shop.write_text(text)
shell = InteractiveShell.instance()
for cell in ("%load_ext autoreload", "%autoreload 2", "import patched_shop"):
    shell.run_cell(cell).raise_error()
import patched_shop

def report(reloads=True):
    if reloads:
        shell.run_cell("pass").raise_error()
    roots = [patched_shop.helper], [patched_shop.Cart], [patched_shop.Cart.add]
    print(*[edited_file(root) and "edited" or read_code(root).hash[4:12] for root in roots],
          patched_shop.Cart().add())

def edit(old, new, **how):
    global text
    text = text.replace(old, new)
    shop.write_text(text)
    report(**how)

report()
edit("import json", "import json  # and a comment")
for change in CHANGES:
    edit(*change)
edit("return n + 4", "return n + 5", reloads=False)
report()
"""
_CHANGES = (
    ("return n + 1\n\n", "return n + 2\n\n"),
    ("            return n + 1", "            return n + 4"),
    ("import json", "import csv\nimport json"),
    ("n=1", "n=3"),
)


def test_what_autoreload_patched_is_hashed_as_a_fresh_import_is(tmp_path):
    """It gives functions other code, on other lines, and moves none that stands elsewhere now."""
    printed = run_script(PATCHED.replace("CHANGES", repr(_CHANGES)), tmp_path)
    first, commented, *changed, unread, last = [line.split() for line in printed]
    assert commented == first
    helper, inner, moved, default = changed
    for before, after, same in [
        (first, helper, ""),
        (helper, inner, "helper"),
        (inner, moved, "helper Cart add result"),
        (moved, default, "helper"),
    ]:
        names = ("helper", "Cart", "add", "result")
        kept = [name for name, a, b in zip(names, before, after, strict=True) if a == b]
        assert set(same.split()) <= set(kept), (before, after)
        assert ("Cart" in same) == ("Cart" in kept), (before, after)
        assert "edited" not in after
    assert unread == [default[0], "edited", "edited", default[3]]
    assert last[:1] == default[:1]
    assert "edited" not in last
    fresh = (
        "import sys; sys.path.insert(0, '.'); import patched_shop as shop\n"
        "from repl_pair.runtime.planning.identity import read_code\n"
        "roots = shop.helper, shop.Cart, shop.Cart.add\n"
        "print(*[read_code([root]).hash[4:12] for root in roots], shop.Cart().add())"
    )
    assert run_script(fresh, tmp_path)[-1].split() == last


REDECORATED = """
import os, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell

sys.path.insert(0, os.getcwd())
text = '''from functools import wraps
from math import e as number
import repl_pair as rp

def twice(fn):
    @wraps(fn)
    def inner(): return 2 * fn()
    return inner

@twice
def helper(n=1): return n

RATE = 1

class Order:
    rate = 1
    def total(self): return 1

@rp.story("pay")
def pay(): return [1 * 1, helper(), RATE, Order.rate, Order().total(), int(number)]

rp.variant("pay/A")
'''
shop = Path("redecorated_shop.py").absolute()
shop.write_text(text)
shell = InteractiveShell.instance()
for cell in ("%load_ext autoreload", "%autoreload 2", "import redecorated_shop as shop"):
    shell.run_cell(cell).raise_error()
rp = shell.user_ns["shop"].rp
print(rp.run("pay/A").result)
for at, (old, new) in enumerate(CHANGES, 1):
    text = text.replace(old, new)
    shop.write_text(text)
    os.utime(shop, (os.stat(shop).st_mtime + 5 * at,) * 2)
    edited = rp.run("pay/A")
    assert edited.identity.code_hash == "unknown"
    shell.run_cell("pass").raise_error()
    record = rp.run("pay/A")
    print(record.result, record.reason, record.identity.code_hash[:4])
"""


def test_what_autoreload_set_in_place_is_not_edited(tmp_path):
    """A story's function is another one then, of a module that was not loaded again."""
    changes = (("1 * 1", "1 * 2"), ("1 * 2", "1 * 3"), ("n=1", "n=3"), ("RATE = 1", "RATE = 4"),
               ("rate = 1", "rate = 5"), ("return 1", "return 6"), ("e as", "pi as"))  # fmt: skip
    printed = run_script(REDECORATED.replace("CHANGES", repr(changes)), tmp_path)
    assert printed == [
        "[1, 2, 1, 1, 1, 2]",
        "[2, 2, 1, 1, 1, 2]  rc1:",
        "[3, 2, 1, 1, 1, 2]  rc1:",
        "[3, 6, 1, 1, 1, 2]  rc1:",
        "[3, 6, 4, 1, 1, 2]  rc1:",
        "[3, 6, 4, 5, 1, 2]  rc1:",
        "[3, 6, 4, 5, 6, 2]  rc1:",
        "[3, 6, 4, 5, 6, 3]  rc1:",
    ]


def test_code_that_stands_on_other_lines_is_not_edited(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "moved_shop", raising=False)
    body = "import types\nclass A:\n    @types.coroutine\n    def run(self):\n        yield 1\n"
    other = "class B:\n    def run(self):\n        return 2\n"
    path = tmp_path / "moved_shop.py"
    path.write_text(body + other)
    shop = importlib.import_module("moved_shop")
    roots = [[shop.A.run], [shop.B.run], [shop.A], [shop.B]]
    before = [code_hash(root) for root in roots]
    assert all(each.startswith("rc1:") for each in before)
    path.write_text("\n\n\n" + other + body)
    assert [edited_file(root) for root in roots] == [""] * 4
    assert [code_hash(root) for root in roots] == before
    path.write_text("\n\n\n" + other.replace("2", "3") + body)
    assert [edited_file(root) for root in roots] == ["", str(path), "", str(path)]
    del sys.modules["moved_shop"]
