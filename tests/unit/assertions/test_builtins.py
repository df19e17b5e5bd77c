"""Each assertion that ships: what passes, what fails with which outcome, what is no payload."""

import asyncio
import enum
import sys
import threading
from dataclasses import dataclass
from decimal import Decimal

import pytest

import repl_pair
from repl_pair import check, step
from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.lines import signature_of
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.copies import copy_judged
from repl_pair.runtime.shipped import ASSERTIONS


class Phase(enum.Enum):
    OPEN = "open"
    SHUT = "shut"


class Machine:
    def __init__(self):
        self.state = Phase.OPEN


class Door:
    def __init__(self):
        self.phase = Phase.SHUT
        self.lock = Machine()
        self.times = 0
        self.by_name = {"hall": {"state": "idle"}}

    def open(self, by="nobody"):
        self.phase, self.times = Phase.OPEN, self.times + 1
        repl_pair.effect("bell", loud=True, by=by)

    def jam(self):
        raise ValueError("it is jammed")


@dataclass
class Line:
    sku: str
    n: int = 1


def order():
    return {"total": 12.5, "lines": [Line("a", 2), Line("b")], "note": "by air", "sent": Phase.OPEN}


@pytest.fixture
def outcomes():
    """Return the outcomes of a play over a door, or over what a function returned."""
    repl_pair.effect.impl("bell")(lambda **_: None)

    def ask(*play, component=order):
        repl_pair.story("made", component=component)
        repl_pair.variant("made/It", play=list(play))
        record = repl_pair.run("made/It")
        assert record.reason == "" or not record.reason.startswith("internal")
        return record.assertions

    return ask


@pytest.fixture
def seen(outcomes):
    """Return the one outcome of the last line of a play."""
    return lambda *play, **given: outcomes(*play, **given)[-1]


@pytest.mark.parametrize("id", ASSERTIONS)
def test_an_assertion_that_ships_has_a_builder_and_the_text_of_its_function(id):
    body = REGISTRY.get("assertion", id).body
    fn = body.component.resolve()
    assert fn.__module__ == body.component.module
    assert body.text.startswith(f"`{body.takes}`: ")
    assert body.takes == signature_of(fn).payload
    assert id in dir(check)


def test_each_builder_builds_an_assertion_that_ships():
    public = set(dir(check))
    assert public == set(ASSERTIONS)


PASSING = [
    check.path_equals("result.lines[0].sku", "a"),
    check.path_equals(["result", "sent"], "OPEN"),
    check.result_equals({
        "total": 12.5, "lines": [{"sku": "a", "n": 2}, Line("b")], "note": "by air", "sent": "open",
    }),
    check.path_matches("result", {"type": "object", "required": ["total"]}),
    check.path_matches("result.lines", {"items": {"properties": {"n": {"maximum": 2}}}}),
    check.path_matches("result.sent", {"enum": ["open"]}),
    check.compare("result.total", "==", 12.5),
    check.compare("result.total", "!=", 12),
    check.compare("result.total", "<", 12.6),
    check.compare("result.total", "<=", 12.5),
    check.compare("result.total", ">", 1),
    check.compare("result.total", ">=", 12.5),
    check.compare("result.total", "in", [1, 12.5]),
    check.compare("result.note", "in", "sent by air"),
    check.compare("result.total", "not_in", [1, 2]),
    check.compare("result.total", "is_close", 12.5 + 1e-12),
    check.contains("result.note", "air"),
    check.contains("result", "total"),
    check.contains("result.lines", {"sku": "b", "n": 1}),
    check.length("result.lines", 2),
    check.length("result.lines", min=1, max=2),
    check.length("result.note", max=6),
    check.approx("result.total", 12.500000001),
    check.approx("result", {
        "total": 12, "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1}], "note": "by air",
        "sent": "OPEN",
    }, abs=0.6),
    check.rendered_text(match=r"total.: 12\.5"),
    check.no_warnings(),
    check.no_secret(),
    check.within_ms(30_000),
]  # fmt: skip


def test_what_is_as_expected_passes(outcomes):
    found = outcomes(*PASSING)
    assert [(o.assertion, o.payload, o.reason) for o in found if not o.passed] == []
    assert len(found) == len(PASSING)


@pytest.mark.parametrize(
    ("line", "expected", "actual", "reason"),
    [
        (
            check.path_equals("result.total", 5),
            5, 12.5, "result.total: expected 5, got 12.5",
        ),
        (
            check.path_equals("result.lnes", 5),
            5, None, "result.lnes: no 'lnes' in result; near: lines, note",
        ),
        (
            check.path_matches("result.total", {"type": "string"}),
            {"type": "string"}, 12.5, "result.total: 12.5 is not of type 'string'",
        ),
        (
            check.path_matches("result.lines", {"items": {"properties": {"n": {"maximum": 1}}}}),
            {"items": {"properties": {"n": {"maximum": 1}}}}, [Line("a", 2), Line("b")],
            "result.lines[0].n: 2 is greater than the maximum of 1",
        ),
        (
            check.result_equals(7),
            7, order(), None,
        ),
        (
            check.compare("result.total", "<", 3),
            3, 12.5, "result.total: expected a value < 3, got 12.5",
        ),
        (
            check.compare("result.total", "in", [1, 2]),
            [1, 2], 12.5, "result.total: expected a value in [1, 2], got 12.5",
        ),
        (
            check.compare("result.note", "<", 3),
            3, "by air", "result.note: 'by air' < 3 raised TypeError",
        ),
        (
            check.contains("result.note", "sea"),
            "sea", "by air", "result.note: 'sea' is not in it",
        ),
        (
            check.contains("result.lines", {"sku": "c", "n": 1}),
            {"sku": "c", "n": 1}, [Line("a", 2), Line("b")],
            "result.lines: {'n': 1, 'sku': 'c'} is not in it",
        ),
        (
            check.contains("result.total", 1),
            1, 12.5, "result.total: a float holds no items",
        ),
        (
            check.length("result.lines", 3),
            3, [Line("a", 2), Line("b")], "result.lines: expected 3 items, got 2",
        ),
        (
            check.length("result.lines", min=3),
            {"min": 3}, [Line("a", 2), Line("b")],
            "result.lines: expected from 3 to any items, got 2",
        ),
        (
            check.length("result.total", 3),
            3, 12.5, "result.total: a float has no length",
        ),
        (
            check.approx("result.total", 12.6, abs=0.01),
            12.6, 12.5, "result.total: expected about 12.6, got 12.5",
        ),
        (
            check.rendered_text("by sea"),
            "by sea", repr(order()), None,
        ),
        (
            check.rendered_text(match="sea$"),
            {"match": "sea$"}, repr(order()),
            f"nothing in the text matches 'sea$', got {repr(order())!r}",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and isinstance(value[0], str) else "",
)  # fmt: skip
def test_what_is_not_as_expected_fails_with_its_whole_outcome(seen, line, expected, actual, reason):
    found = seen(line)
    assert reason is None or found.reason == reason
    assert found == Outcome(
        assertion=line[0], payload=line[1:], passed=False, expected=expected,
        actual=copy_judged(actual),
        reason=found.reason, step=0,
    )  # fmt: skip
    assert found.reason


DISPATCHED = [["open", {"by": "ann"}], ["open", {}]]
CAME = "came 2 times, with {'by': 'ann'}; {}"


@pytest.mark.parametrize(
    ("line", "passed", "reason"),
    [
        (check.dispatched("open"), True, ""),
        (check.dispatched("open", {"by": "ann"}), True, ""),
        (check.dispatched("open", {}), True, ""),
        (check.dispatched("open", {"by": "bob"}), False, f"event 'open' {CAME}"),
        (check.dispatched("oppen"), False, "no event 'oppen'; there came open. Nearest: open."),
    ],
)
def test_an_event_counts_since_play_began(seen, line, passed, reason):
    found = seen(step.dispatch("open", by="ann"), step.dispatch("open"), line, component=Door)
    assert found == Outcome(
        assertion="dispatched", payload=line[1:], passed=passed, expected=line[1],
        actual=DISPATCHED, reason=reason, step=2,
    )  # fmt: skip


def test_an_event_before_play_does_not_count(outcomes):
    repl_pair.story("door", component=Door)
    repl_pair.variant("door/It", events=["open"], play=[check.dispatched("open")])
    (found,) = repl_pair.run("door/It").assertions
    assert (found.passed, found.reason) == (False, "no event 'open'; none came")


@pytest.mark.parametrize(
    ("line", "passed", "reason"),
    [
        (check.effect_emitted("bell"), True, ""),
        (check.effect_emitted("bell", loud=True), True, ""),
        (check.effect_emitted("bell", by="ann", loud=True), True, ""),
        (
            check.effect_emitted("bell", by="bob"),
            False,
            "effect 'bell' came 1 times, with {'by': 'ann', 'loud': True}",
        ),
        (check.effect_emitted("bel"), False, "no effect 'bel'; there came bell. Nearest: bell."),
        (["effect_emitted", "bell", 3], False, None),
    ],
)
def test_an_effect_is_emitted_with_at_least_its_payload(seen, line, passed, reason):
    found = seen(step.dispatch("open", by="ann"), line, component=Door)
    expected = line[1:] if len(line) > 2 else ["bell" if passed else line[1]]
    assert found == Outcome(
        assertion="effect_emitted", payload=line[1:], passed=passed, expected=expected,
        actual=[["bell", {"loud": True, "by": "ann"}]], reason=found.reason, step=1,
    )  # fmt: skip
    assert reason is None or found.reason == reason


def test_a_stubbed_effect_counts_as_emitted():
    repl_pair.story("door", component=Door)
    repl_pair.decorator("quiet", kind="fx_override", effect="bell", response=1)
    play = [step.dispatch("open"), check.effect_emitted("bell")]
    repl_pair.variant("door/It", decorators=["quiet"], play=play)
    assert repl_pair.run("door/It").status == "pass"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (check.state_is("phase", "SHUT"), ""),
        (check.state_is("phase", "shut"), ""),
        (check.state_is("state.phase", "shut"), ""),
        (check.state_is(["phase"], "shut"), ""),
        (check.state_is("lock", "open"), ""),
        (check.state_is("lock.state", "OPEN"), ""),
        (check.state_is("by_name.hall", "idle"), ""),
        (check.state_is("times", 0), ""),
        (
            check.state_is("phase", "open"),
            "state.phase: expected <Phase.OPEN: 'open'>, got <Phase.SHUT: 'shut'>",
        ),
        (
            check.state_is("phase", "ajar"),
            "state.phase: expected 'ajar', got <Phase.SHUT: 'shut'>",
        ),
        (
            check.state_is("pase", "open"),
            "there is no machine pase: state.pase: no 'pase' in state; near: phase",
        ),
    ],
)
def test_a_machine_is_in_a_state(seen, line, reason):
    found = seen(line, component=Door)
    assert (found.passed, found.reason, found.expected) == (not reason, reason, line[2])


def test_what_is_derived_from_the_state_equals(outcomes):
    @repl_pair.derived("openings")
    def openings(state, times=1):
        return state.times * times

    @repl_pair.derived("later")
    async def later(state):
        await asyncio.sleep(0)
        return threading.current_thread().name

    @repl_pair.derived("where")
    def where(state):
        return threading.current_thread().name

    @repl_pair.derived("broken")
    def broken(state):
        raise KeyError("hinge")

    @repl_pair.derived("broken_later")
    async def broken_later(state):
        raise KeyError("hinge")

    found = outcomes(
        step.dispatch("open"),
        check.derived_equals("openings", 1),
        check.derived_equals("openings", 3, times=3),
        check.derived_equals("later", "repl_pair loop"),
        check.derived_equals("where", threading.current_thread().name),
        check.derived_equals("openings", 2),
        check.derived_equals("broken", 1),
        check.derived_equals("broken_later", 1),
        ["derived_equals", "openigs", 1],
        ["derived_equals", ["openings", 3], 1],
        ["derived_equals", 5, 1],
        check.derived_equals("openings", 2, tims=1),
        component=Door,
    )
    assert [(o.passed, o.expected, o.actual, o.reason) for o in found[4:]] == [
        (False, 2, 1, "openings: expected 2, got 1"),
        (False, 1, None, "broken raised KeyError: 'hinge'"),
        (False, 1, None, "broken_later raised KeyError: 'hinge'"),
        (False, 1, None, "There is no derived 'openigs'. Nearest: openings."),
        (False, 1, None, "a derived value is an id or [id, {args}], not ['openings', 3]"),
        (False, 1, None, "a derived value is an id or [id, {args}], not 5"),
        (False, 2, None, found[-1].reason),
    ]
    assert "unexpected keyword argument 'tims'" in found[-1].reason
    assert all(o.passed for o in found[:4])


def test_what_a_step_or_the_component_raised_is_expected(outcomes):
    def fails():
        raise LookupError("gone")

    (found,) = outcomes(check.raises(LookupError, match="gone"), component=fails)
    assert found == Outcome(
        assertion="raises", payload=["LookupError", {"match": "gone"}], passed=True,
        expected="LookupError matching 'gone'", actual="LookupError: gone",
    )  # fmt: skip
    (found,) = outcomes(step.call("jam"), check.raises("builtins.ValueError"), component=Door)
    assert (found.passed, found.actual) == (True, "ValueError: it is jammed")
    (found,) = outcomes(step.call("jam"), check.raises(ValueError, match="x"), component=Door)
    assert (found.passed, found.reason) == (False, "the message does not match")
    (found,) = outcomes(check.raises(ValueError), component=Door)
    assert (found.passed, found.reason) == (False, "the component raised nothing")

    class WithoutWordsError(Exception):
        def __str__(self):
            raise RuntimeError

    def fails_without_words():
        raise WithoutWordsError

    (found,) = outcomes(check.raises(WithoutWordsError), component=fails_without_words)
    assert (found.passed, found.actual) == (True, "WithoutWordsError: <unreadable>")


def test_a_class_of_another_module_with_the_name_of_a_builtin_is_another_class(outcomes):
    made = type("ConnectionError", (OSError,), {"__module__": "client"})

    def fails(error=None):
        raise (made or ConnectionError)("no route")

    expected = {ConnectionError: False, "ConnectionError": False, OSError: True, made: True,
                "client.ConnectionError": True, "LookupError": False}  # fmt: skip
    for exception, passes in expected.items():
        (found,) = outcomes(check.raises(exception), component=fails)
        assert found.passed is passes, exception
    assert found.reason == "it raised client.ConnectionError: no route"
    made = None
    for exception in expected:
        (found,) = outcomes(check.raises(exception), component=fails)
        named = "client" in str(exception)
        assert found.passed is (not named and exception != "LookupError"), exception


def test_what_takes_too_long_fails_with_the_time_that_render_took(seen):
    def slow():
        threading.Event().wait(0.02)

    found = seen(check.within_ms(0.5), component=slow)
    assert (found.passed, found.expected) == (False, 0.5)
    assert found.reason == f"render took {found.actual} ms, not at most 0.5"
    assert 15 < found.actual < 5_000
    assert seen(check.within_ms(5_000), component=slow).passed
    assert seen(["within_ms", "fast"]).reason == "a time is milliseconds from 0, not 'fast'"
    assert seen(["within_ms", -1]).reason == "a time is milliseconds from 0, not -1"


def test_the_text_of_what_was_displayed_is_what_counts():
    class Rich:
        def _repr_html_(self):
            return "<b>3 items</b>"

    def shows(text=""):
        return text or Rich()

    repl_pair.story("shows", component=shows)
    repl_pair.variant("shows/Html", play=[check.rendered_text("<b>3 items</b>\n")])
    repl_pair.variant("shows/Text", args={"text": "a\nb"}, play=[check.rendered_text("a\nb")])
    repl_pair.variant("shows/Odd", args={"text": "a"}, play=[["rendered_text", {"mtch": "a"}]])
    assert repl_pair.run("shows/Html").status == "pass"
    assert repl_pair.run("shows/Text").status == "pass"
    (found,) = repl_pair.run("shows/Odd").assertions
    assert found.reason == "it takes a text or {match}, not {'mtch': 'a'}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (["compare", "result.total", "=>", 1], "there is no operator '=>'. Nearest: >, >=, ==."),
        (["compare", "result.total", "in", 5], "result.total: 12.5 in 5 raised TypeError"),
        (["length", "result.lines", "two"], "a length is a whole number or {min, max}, not 'two'"),
        (["length", "result.lines", {"least": 2}], "a length is a whole number or {min, max}, not"),
        (["length", "result.lines", True], "a length is a whole number or {min, max}, not True"),
        (["approx", "result.total", 1, {"abs": -1}], "a tolerance is a number from 0, not -1"),
        (["approx", "result.total", 1, {"rel": "x"}], "a tolerance is a number from 0, not 'x'"),
        (["approx", "result.total", 1, {"abs": 10**400}], "a tolerance is at most 1.7e308"),
        (["approx", "result.total", Decimal("sNaN")], "result.total: expected about Decimal('s"),
        (["path_matches", "result.total", {"type": "numb"}], "the schema is not valid: 'numb' is"),
        (["path_matches", "result.total", 3], "the schema is not valid: it is a mapping, not 3"),
        (["dispatched", 3], "an event is a name or [name, {payload}], not 3"),
        (["dispatched", []], "an event is a name or [name, {payload}], not []"),
        (["dispatched", ["a", {}, 1]], "an event is a name or [name, {payload}], not ['a', {}, 1]"),
        (["rendered_text", {"match": "("}], "rendered_text raised PatternError"),
    ],
)
def test_an_odd_payload_is_a_failed_outcome(seen, line, reason):
    if line[0] == "rendered_text" and sys.version_info < (3, 13):
        reason = "rendered_text raised error"
    found = seen(line)
    assert (found.passed, found.reason[: len(reason)]) == (False, reason)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["path_equals", "result"], "path_equals: it takes [path, expected], not 1 word."),
        (["path_equals", "a", 1, 2], "path_equals: it takes [path, expected], not 3 words."),
        (["no_warnings", 1], "no_warnings: it takes [], not 1 word."),
        (["compare", "result", 1], "compare: it takes [path, op, x], not 2 words."),
        (
            ["matches_snapshot", "a", "b"],
            "matches_snapshot: it takes [name?, {tolerance}], not 2 words.",
        ),
        (["raises"], "raises: it takes [exception, {match}], not 0 words."),
        (["raises", "E", "x"], "raises: it takes [exception, {match}], not 2 words."),
        (
            ["raises", "E", {"mtch": "x"}],
            "raises: it takes [exception, {match}]; there is no option 'mtch'. Nearest: match.",
        ),
        (["approx", "a", 1, {}, 2], "approx: it takes [path, expected, {abs, rel}], not 4 words."),
    ],
)
def test_a_wrong_number_of_words_is_refused_at_registration(line, message):
    repl_pair.story("made", component=order)
    with pytest.raises(AuthoringError, match="variant 'made/It': ") as refused:
        repl_pair.variant("made/It", play=[line])
    assert refused.value.message == f"variant 'made/It': {message}"


def test_an_assertion_of_the_persons_own_takes_what_its_signature_states(seen):
    @repl_pair.assertion
    def is_round(settled, path, *, digits=0, strict):
        return round(settled.at(path), digits) == settled.at(path) or not strict

    repl_pair.story("made", component=order)
    assert REGISTRY.get("assertion", "is_round").body.takes == "[path, {digits, strict}]"
    for line, fault in [
        ([is_round], "[path, {digits, strict}], not 0 words."),
        ([is_round, "result.total"], "[path, {digits, strict}]; strict is missing."),
        ([is_round, "a", {"digit": 1, "strict": True}], "there is no option 'digit'. Nearest: d"),
    ]:
        with pytest.raises(AuthoringError) as refused:
            repl_pair.variant("made/It", play=[line])
        assert fault in refused.value.message
    assert seen([is_round, "result.total", {"digits": 1, "strict": True}]).passed
    found = seen([is_round, "result.total", {"strict": True}])
    assert (found.passed, found.reason) == (False, "")


def test_an_assertion_that_changed_since_registration_fails_and_states_what_it_takes(seen):
    @repl_pair.assertion("holds")
    def holds(settled, path):
        return True

    repl_pair.story("made", component=order)
    repl_pair.variant("made/It", play=[["holds", "result"]])

    @repl_pair.assertion("holds")
    def holds_now(settled, path, value):
        return True

    (found,) = repl_pair.run("made/It").assertions
    assert (found.passed, found.reason) == (
        False,
        "holds: it takes [path, value], not 1 word.",
    )


def test_an_assertion_that_gives_no_verdict_or_raises_fails(outcomes):
    repl_pair.assertion("forgets")(lambda settled: None)
    repl_pair.assertion("breaks")(lambda settled: settled.result["gone"])
    repl_pair.assertion("vague")(lambda settled: Vague())
    found = outcomes(["forgets"], ["breaks"], ["vague"])
    assert [(o.passed, o.reason) for o in found] == [
        (False, ""),
        (False, "breaks raised KeyError: 'gone'"),
        (False, "vague raised ValueError: neither"),
    ]


class Vague:
    def __bool__(self):
        raise ValueError("neither")


def test_without_the_library_a_schema_cannot_be_checked_and_the_remedy_is_named(
    monkeypatch,
):
    repl_pair.story("made", component=order)
    repl_pair.variant("made/It", play=[check.path_matches("result", {})])
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    record = repl_pair.run("made/It")
    assert (record.status, record.total) == ("cannot_run", 0)
    assert record.reason.endswith("pip install jsonschema")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: check.raises(5), "raises takes one class or its name, not 5."),
        (lambda: check.raises((ValueError, KeyError)), "raises takes one class or its name, not ("),
        (lambda: check.warns(None), "warns takes one class or its name, not None."),
        (lambda: check.contains(5, 1), "a path is result.lines[0].sku"),
        (lambda: check.path_equals(None, 1), "a path is result.lines[0].sku"),
    ],
)
def test_a_word_of_another_type_is_refused_where_the_step_is_built(build, words):
    with pytest.raises(AuthoringError) as refused:
        build()
    assert refused.value.code == "bad_body"
    assert refused.value.message.startswith(words)
