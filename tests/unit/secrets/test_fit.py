import base64
import json
import random
from typing import Any, NotRequired, TypedDict

import pytest

from repl_pair.runtime.secrets.egress import PARTS, WINDOW, send_out
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.plain_copy import Span
from repl_pair.runtime.secrets.redaction import copy_plain
from repl_pair.runtime.secrets.truncation import Limits, head_of
from repl_pair.wire import ELIDED

TOKEN = "Zq7kW2mXv9LbT4nRp6YsHd3Gc8Jf5Qa1"
FORMS = (TOKEN, TOKEN.encode().hex(), base64.b64encode(TOKEN.encode()).decode())
HALF = 8


class Row(TypedDict):
    id: str
    value: NotRequired[Any]


class Answer(TypedDict):
    status: str
    items: list[Row]
    args: dict[str, Any]
    notes: NotRequired[list[str]]


def sent(value, chars, **options):
    kept: list[Any] = []
    options.setdefault("needles", Needles())

    def keep(whole):
        kept.append(whole)
        return f"h-{len(kept):024}"

    return send_out(
        value, limits=Limits(width=60, chars=chars), keep=keep, shape=Answer, **options
    ), kept


def length(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def any_text(dice, most):
    """Return a text with the forms of a secret at any place in it."""
    pieces = dice.choices([*FORMS, ". ", "." * dice.randrange(1, most)], k=dice.randrange(9))
    return "".join(pieces)


def any_value(dice, depth):
    kind = dice.randrange(6 if depth else 3)
    if kind < 3:
        return dice.choice([any_text(dice, 900), any_text(dice, 9), dice.random(), None, [], {}])
    count = dice.choice([1, 2, 5, 70])
    if kind == 3:
        return {any_text(dice, 60): any_value(dice, depth - 1) for _ in range(count)}
    part = any_value(dice, depth - 1)
    return [part if kind == 4 else any_value(dice, max(0, depth - 2)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(8))
def test_no_cut_leaves_a_part_of_a_secret_however_short_the_answer(seed):
    dice, needles = random.Random(seed), Needles()
    needles.add(TOKEN)
    halves = {form[at : at + HALF] for form in FORMS for at in range(len(form) - HALF + 1)}
    for _ in range(12):
        items = [{"id": f"row {n}", "value": any_value(dice, 3)} for n in range(dice.randrange(40))]
        args = {any_text(dice, 60): any_value(dice, 2) for _ in range(4)}
        notes = [any_text(dice, 400) for _ in range(dice.randrange(30))]
        answer = {"status": "pass", "items": items, "args": args, "notes": notes}
        out, kept = sent(answer, dice.randrange(500, 20_000), needles=needles)
        left = json.dumps([out.value, kept])
        assert [half for half in halves if half in left] == []
        assert out.value["status"] == "pass"
        assert [item["id"] for item in out.value["items"]] == [item["id"] for item in items]


LONG = {
    "texts": lambda: ["a long text " * 400] * 60,
    "dicts": lambda: [{f"name {n}": "text " * 90 for n in range(60)}] * 30,
    "lists of lists": lambda: [[[list(range(90))] * 60] * 60] * 20,
    "deep": lambda: [{"a": {"b": {"c": {"d": ["e" * 99] * 99}}}}] * 40,
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("chars", [14_000, 30_000])
def test_an_answer_is_cut_to_its_characters_and_keeps_rows_and_handles(make, chars):
    rows = [{"id": f"row {n}", "value": value} for n, value in enumerate(make())]
    answer = {"status": "pass", "items": rows, "args": {"n": 1}, "notes": ["note " * 300] * 20}
    out, kept = sent(answer, chars)
    assert length(out.value) <= chars
    assert [row["id"] for row in out.value["items"]] == [row["id"] for row in rows]
    assert (out.value["status"], out.value["args"]) == ("pass", {"n": 1})
    markers = json.dumps(out.value).count(f'"{ELIDED}"')
    assert markers == json.dumps(out.value).count('"handle"') == len(kept)
    assert all(kept)


@pytest.mark.parametrize("is_list", [False, True])
def test_each_value_of_an_answer_is_bounded_though_it_holds_itself(is_list):
    own: Any = [] if is_list else {}
    own.append(own) if is_list else own.update(me=own)
    out = send_out({"items": [{"value": own}]}, limits=Limits(each=200), shape=Answer)
    assert out.value["items"][0]["value"]


def test_an_answer_that_fits_is_cut_no_more_than_without_a_bound():
    answer = {"status": "pass", "items": [], "args": {"a": "x" * 1_900, "b": [[[[1]]]]}}
    assert sent(answer, 14_000)[0].value == sent(answer, 0)[0].value == answer


def count(node, met):
    if type(node) not in (dict, list) or id(node) in met:
        return 0
    met.add(id(node))
    parts = node.values() if type(node) is dict else node
    return len(node) + sum(count(part, met) for part in parts)


WIDE = {
    "one list": lambda: list(range(400_000)),
    "one dict": lambda: dict.fromkeys(range(400_000)),
    "lists of lists": lambda: [list(range(50_000)) for _ in range(60)],
    "rows": lambda: [{"a": n, "b": [n]} for n in range(60_000)],
    "columns of rows": lambda: {
        f"c{n}": [{"a": n}] * 1 + [[n] for n in range(9_000)] for n in range(9)
    },
}


@pytest.mark.parametrize("make", WIDE.values(), ids=WIDE.keys())
def test_what_is_read_is_bounded_for_the_whole_answer_and_what_is_shown_is_read_first(make):
    value = make()
    limits = Limits()
    copy = copy_plain(value, needles=Needles(), span=Span(PARTS, 4 * WINDOW, limits.width))
    assert count(copy.root, set()) <= PARTS
    shown = send_out(value, needles=Needles()).value
    firsts = list(shown.values())[:40] if type(shown) is dict else shown[:40]
    assert not any(ELIDED in first for first in firsts if type(first) is dict)


def test_of_lists_in_a_list_each_shows_its_first_parts():
    shown = send_out([list(range(50_000)) for _ in range(49)], needles=Needles()).value
    assert [row[:3] for row in shown] == [[0, 1, 2]] * 49


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("line\n" * 30 + "word " * 2 + "ghp_a1B2c3D4", "line\n" * 30),
        ("word " * 40 + "ghp_a1B2c3D4", "word " * 40),
        ('"a":1,' * 30 + '"b":"ghp_a1B2c3D4', '"a":1,' * 30 + '"b":"'),
        ("https://" + "a" * 200, "https://" + "a" * 200),
    ],
)
def test_a_head_ends_with_a_line_a_word_or_before_what_may_be_a_token(text, head):
    assert head_of(text + "E5F6 and more", len(text)) == head
