"""Thousands of calls to servers with different gates, and not a byte of a canary leaves.

`make attack` makes more of them: 100,000, of any seed.
"""

from random import Random

import pytest
from attack import Attack, Broken, describe, result_of
from canaries import LONG, SHAPES, Search, forms_of
from places import UNPROMISED
from stand import ROOT, SETTINGS, open_stand

from repl_pair.bridge import manifest

pytestmark = pytest.mark.timeout(3_000)  # thousands of calls before the first test
SEED, CASES = 12, 2_000
INTERNAL = {d["name"] for d in manifest.load() if d.get("internal")}
BROKEN = {
    "secrets are not found": (
        "from repl_pair.runtime.secrets.needles import Needles\n"
        "whole, Needles.find = Needles.find, lambda self, text: ()",
        "Needles.find = whole",
        "' in '",
    ),
    "what is kept is listed": (
        "from repl_pair.runtime.registry import visible\n"
        "whole, visible.is_seen = visible.is_seen, lambda view, entry: True",
        "visible.is_seen = whole",
        "kept_",
    ),
    "a refusal changes data of the person's": (
        "from repl_pair.runtime.kernel import packaging\n"
        "whole = packaging.refuse\n"
        "def refuse(*args, **slots):\n"
        "    v_config['plain'] += 1\n"
        "    return whole(*args, **slots)\n"
        "packaging.refuse = refuse",
        "packaging.refuse = whole",
        "these changed: names",
    ),
}
"""Defects that a cell brings in and another takes out, and what is then found."""


@pytest.fixture(scope="module")
def attack():
    """An attack that was made, its stand still open."""
    with open_stand(SEED) as stand:
        attack = Attack(stand, SEED)
        try:
            # Which calls are answered with ok depends on the machine too.
            for cases in range(CASES, 3 * CASES, 200):
                for _ in attack.run(cases):
                    pass
                if not unreached(attack):
                    break
        except Broken as broken:
            pytest.fail(describe(SEED, broken))
        yield attack


def test_no_call_leaks_and_no_refused_or_reading_call_changes_anything(attack):
    print(dict(attack.counts.codes))
    assert attack.counts.cases >= CASES
    assert attack.stand.leaks() == set()


def unreached(attack):
    """Return what was not answered with ok once."""
    tools = {"attack_app__bring", "attack_app__aside", "attack_app__count"}
    requests = {"resources/read", "resources/list", "completion/complete"}
    every = set(attack.generator.ops) - INTERNAL
    return (every | tools | requests) - set(attack.counts.reached)


def test_every_op_is_answered_with_ok(attack):
    assert unreached(attack) == set()
    assert not set(attack.counts.reached) & INTERNAL


def test_every_op_is_refused_too(attack):
    assert set(attack.counts.refused) >= set(attack.generator.ops) | {"resources/read"}


def test_every_gate_is_open_at_some_server_and_all_are_closed_at_one(attack):
    assert set(attack.stand.servers) == set(SETTINGS)
    opened = set().union(*(policy.allow for policy, _ in SETTINGS.values()))
    assert {d["access"] for d in manifest.load()} <= opened | {"read", "run"}
    assert not SETTINGS["closed"][0].allow


@pytest.mark.parametrize("defect", BROKEN)
def test_a_defect_is_found(attack, defect):
    bring, take_out, found = BROKEN[defect]
    attack.stand.cell(bring)
    try:
        with pytest.raises(Broken, match=found):
            for _ in attack.run(attack.counts.cases + 300):
                pass
    finally:
        attack.stand.cell(take_out)
        attack.stand.leaks()


def test_the_names_of_what_is_kept_are_found_where_a_reading_op_shows_them(attack):
    stand, server = attack.stand, attack.stand.servers["open"]
    since = {"since": result_of(server.call("read_changes", {}))["result"]["next"]}
    stand.cell("import warnings\nwith warnings.catch_warnings(action='ignore'): publish()")
    server.call("read_changes", since)
    assert stand.leaks() == set()
    stand.cell(
        "from repl_pair.runtime.ops import changes\n"
        "whole, changes.is_seen = changes.is_seen, lambda view, entry: True"
    )
    server.call("read_changes", since)
    stand.cell("changes.is_seen = whole")
    found = {leak.place for leak in stand.leaks()}
    assert found == {"kept_surface", "kept_member", "kept_function", "kept_projection"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_canary_is_found_in_each_form_and_by_a_part(shape):
    text = SHAPES[shape](Random(1))
    search = Search({"here": text})
    for form in forms_of(text) if shape in LONG else (text, f"plain {text} plain"):
        assert search.find(b"plain " + form.encode() + b" plain"), form
    assert not search.find(b"plain 1234567890 [redacted] " * 40)
    if shape in LONG and not text.isdigit():
        assert search.find(b"plain " + text.encode()[-12:] + b" plain")


@pytest.mark.parametrize("place", UNPROMISED)
def test_what_is_not_planted_is_documented_as_unknown(place):
    page = " ".join((ROOT / "docs" / "threats.md").read_text("utf-8").split())
    assert UNPROMISED[place] in page
