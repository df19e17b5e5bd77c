import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
import warnings
import weakref

import pytest

import repl_pair
from repl_pair.errors import ReplPairError, RequestError, VariantFailed
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.running.runner import execute
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.stopping.stop import RunStopped, Stop
from repl_pair.runtime.values.classes import is_awaitable

check = repl_pair.check


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


def add(a: int = 1, b: int = 2):
    return {"sum": a + b}


@pytest.fixture
def sums():
    repl_pair.story("sums", component=add)


COUNTED = """
import sys
import repl_pair
def add(a: int = 1, b: int = 2): return a + b
repl_pair.story("sums", component=add)
repl_pair.variant("sums/A", args={"a": 3}, play=[repl_pair.check.path_equals("result", 5)])
assert [repl_pair.run("sums/A").status for _ in range(3)] == ["pass"] * 3
events = []
sys.setprofile(lambda _frame, event, _given: events.append(event))
repl_pair.run("sums/A")
sys.setprofile(None)
print(events.count("call") + events.count("c_call"))
"""


def test_a_run_makes_few_calls_around_that_of_its_component():
    # In a process of its own: each library that is imported has settings, which a run holds.
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 2_200


def test_a_run_records_what_it_did(sums):
    repl_pair.variant("sums/A", args={"a": 3}, play=[check.path_equals("result.sum", 5)])
    record = repl_pair.run("sums/A")
    assert (record.status, record.total, record.result) == ("pass", 1, {"sum": 5})
    assert record.effective_args == {"a": 3}
    assert [p.phase for p in record.phases] == [
        *("setup", "load", "events", "render", "play", "teardown")
    ]
    assert record.identity == repl_pair.snapshot_identity("sums/A")


def test_a_run_without_assertions_passes_and_states_that_there_were_none(sums):
    repl_pair.variant("sums/A")
    record = repl_pair.run("sums/A")
    assert (record.status, record.total) == ("pass", 0)


def test_an_asynchronous_component_runs_from_plain_code_and_from_a_running_loop():
    async def wait(n: int = 1):
        await asyncio.sleep(0)
        return threading.current_thread().name, n

    repl_pair.story("wait", component=wait)
    repl_pair.variant("wait/A")
    assert repl_pair.run("wait/A").result == ("repl_pair loop", 1)

    async def inside():
        return repl_pair.run("wait/A").result, (await repl_pair.arun("wait/A")).result

    here = threading.current_thread().name
    assert asyncio.run(inside()) == (("repl_pair loop", 1), (here, 1))


def test_the_private_loop_carries_the_context_of_the_caller():
    user = contextvars.ContextVar("user", default="nobody")

    async def who():
        return user.get()

    repl_pair.story("who", component=who)
    repl_pair.variant("who/A")
    token = user.set("ada")
    assert repl_pair.run("who/A").result == "ada"
    user.reset(token)


def test_a_check_raises_for_anything_but_pass_and_holds_the_record(sums, capsys):
    repl_pair.variant("sums/Right", play=[check.path_equals("result.sum", 3)])
    repl_pair.variant("sums/Wrong", play=[check.path_equals("result.sum", 4)])
    assert repl_pair.run("sums/Right", check=True).status == "pass"
    with pytest.raises(
        VariantFailed, match=r"sums/Wrong: fail, 1 assertion\. .*expected 4"
    ) as failed:
        repl_pair.run("sums/Wrong", check=True)
    assert failed.value.record.status == "fail"
    assert capsys.readouterr().out.splitlines() == [
        "PASS sums/Right: 1 assertion",
        "FAIL sums/Wrong: 1 assertion",
        "    path_equals: result.sum: expected 4, got 3",
    ]


def test_an_unknown_variant_or_mode_is_refused_with_the_nearest(sums):
    repl_pair.variant("sums/Alpha")
    with pytest.raises(ReplPairError, match=r"no variant 'sums/Alhpa'\. Nearest: sums/Alpha"):
        repl_pair.run("sums/Alhpa")
    with pytest.raises(ReplPairError, match="no mode 'x'"):
        repl_pair.run("sums/Alpha", modes=["x"])


def test_args_are_laid_over_each_other_from_global_to_override():
    def show(**given):
        return given

    repl_pair.story("show", component=show, args={"a": "story", "deep": {"x": 1, "y": 1}})
    repl_pair.mode("m/one", args={"a": "mode", "b": "mode", "deep": {"y": 2}})
    repl_pair.mode("m/two", args={"b": "later"})
    repl_pair.variant("show/A", args={"b": "variant", "deep": {"z": 3}})
    record = repl_pair.run("show/A", modes=["m/one", "m/two"], overrides={"deep": {"x": 9}})
    assert record.result == {"a": "mode", "b": "variant", "deep": {"x": 9, "y": 2, "z": 3}}
    assert record.active_modes == ("m/one", "m/two")


def test_declaring_modes_on_a_story_activates_none():
    repl_pair.mode("m/one", args={"a": 7})
    repl_pair.story("sums", component=add, modes=["m/one"])
    repl_pair.variant("sums/A")
    assert repl_pair.run("sums/A").result == {"sum": 3}


def test_a_global_argument_reaches_only_the_components_that_take_it(sums):
    repl_pair.global_args(a=10, unknown=1)
    try:
        repl_pair.variant("sums/A")
        assert repl_pair.run("sums/A").result == {"sum": 12}
    finally:
        repl_pair.global_args()


def test_a_mode_that_sets_what_the_component_does_not_take_cannot_run(sums):
    repl_pair.mode("m", args={"c": 1})
    repl_pair.variant("sums/A")
    record = repl_pair.run("sums/A", modes=["m"])
    assert record.status == "cannot_run"
    assert "takes no argument 'c'" in record.reason


def test_each_run_gets_fresh_arguments():
    def grow(items: list[int]):
        items.append(0)
        return len(items)

    repl_pair.story("grow", component=grow)
    repl_pair.variant("grow/A", args={"items": [1]})
    assert [repl_pair.run("grow/A").result for _ in range(3)] == [2, 2, 2]


def test_output_of_a_run_lands_in_its_record_and_nowhere_else(capsys, caplog):
    import logging

    def noisy():
        print("to stdout")
        warnings.warn("careful", stacklevel=1)
        logging.getLogger("shop").warning("logged %s", 1)

    repl_pair.story("noisy", component=noisy)
    repl_pair.variant("noisy/A", play=[check.path_equals("stdout", "to stdout\n")])
    print("mine")
    record = repl_pair.run("noisy/A")
    assert capsys.readouterr().out == "mine\n"
    assert record.status == "pass"
    assert record.stdout == "to stdout\n"
    assert record.warnings == ("UserWarning: careful",)
    assert record.logs == ("WARNING shop: logged 1",)


def test_a_message_that_has_no_text_is_logged_and_ends_no_run(monkeypatch):
    import logging

    logger = logging.getLogger("mute")
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    monkeypatch.setattr(logger, "propagate", False)  # pytest's own handler raises

    class Mute:
        def __str__(self):
            raise ValueError

    def noisy():
        logger.warning(Mute())
        return 1

    repl_pair.story("noisy", component=noisy)
    repl_pair.variant("noisy/A")
    record = repl_pair.run("noisy/A")
    assert (record.status, record.result) == ("pass", 1)
    assert record.logs == ("WARNING mute: <unreadable>",)


def test_a_warning_fails_no_warnings_each_time_it_is_given():
    def careless():
        warnings.warn("again", stacklevel=1)

    repl_pair.story("careless", component=careless)
    repl_pair.variant("careless/A", play=[check.no_warnings()])
    assert [repl_pair.run("careless/A").status for _ in range(2)] == ["fail", "fail"]


def test_the_filters_of_the_person_are_as_before_after_a_run(sums):
    repl_pair.variant("sums/A")
    before = (list(warnings.filters), warnings.showwarning)
    repl_pair.run("sums/A")
    assert (list(warnings.filters), warnings.showwarning) == before


def test_overlapping_runs_keep_their_output_apart():
    async def talk(name: str):
        for _ in range(20):
            print(name, end="")
            await asyncio.sleep(0)

    repl_pair.story("talk", component=talk)
    repl_pair.variant("talk/A", args={"name": "a"})
    repl_pair.variant("talk/B", args={"name": "b"})

    async def both():
        return await asyncio.gather(repl_pair.arun("talk/A"), repl_pair.arun("talk/B"))

    assert [r.stdout for r in asyncio.run(both())] == ["a" * 20, "b" * 20]


class Proxy:
    """Forwards to an object, as the proxies of web frameworks and lazy values do."""

    def __init__(self, find):
        object.__setattr__(self, "_find", find)

    @property
    def __class__(self):
        return type(object.__getattribute__(self, "_find")())

    def __await__(self):
        return object.__getattribute__(self, "_find")().__await__()


def unbound():
    raise RuntimeError("outside of a request")


async def later():
    return 5


@pytest.mark.parametrize(
    ("find", "result"),
    [(lambda: "plain", None), (later, 5)],
    ids=["of a value", "of a coroutine"],
)
def test_a_proxy_is_awaited_where_what_it_stands_for_is(find, result):
    proxy = Proxy(find)
    repl_pair.story("proxied", component=lambda: proxy)
    repl_pair.variant("proxied/A")
    record = repl_pair.run("proxied/A")
    assert (record.status, record.result) == ("pass", result or proxy)


def test_a_proxy_that_stands_for_nothing_is_not_awaited():
    assert not is_awaitable(Proxy(unbound))


def test_an_interrupt_comes_through_after_the_teardown():
    done = []

    @repl_pair.loader("thing")
    def thing():
        yield 1
        done.append("cleaned")

    def stopped(x):
        raise KeyboardInterrupt

    repl_pair.story("stopped", component=stopped)
    repl_pair.variant("stopped/A", args={"x": repl_pair.ref("thing")})
    with pytest.raises(KeyboardInterrupt):
        repl_pair.run("stopped/A")
    assert done == ["cleaned"]


def test_a_kept_result_does_not_hold_the_persons_objects(sums):
    repl_pair.variant("sums/A")
    repl_pair.run("sums/A")
    kept = last_result("sums/A")
    assert (kept.status, kept.result, kept.last) == ("pass", None, None)


def test_a_nested_run_uses_the_loop_that_runs_now():
    code = """
import asyncio, threading, repl_pair

async def where():
    await asyncio.sleep(0)
    return threading.current_thread().name

repl_pair.story("where", component=where)
repl_pair.variant("where/A")

async def main():
    return repl_pair.run("where/A", loop="nested").result

print(asyncio.run(main()))
"""
    import subprocess
    import sys

    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert out.stdout == "MainThread\n"


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (lambda: repl_pair.run(print), "bad_arguments", "the id of a variant, and no builtin_fun"),
        (
            lambda: repl_pair.run("asked"),
            "not_found",
            r"is a story.*: asked/One, asked/Two",
        ),
        (lambda: repl_pair.run("asked/*"), "not_found", r"is a pattern.*`run_variants` takes"),
        (lambda: repl_pair.run_variants("asked"), "bad_arguments", r"not 'asked'; `story='asked'`"),
    ],
)
def test_what_is_no_id_of_a_variant_is_refused_for_what_it_is(call, code, message):
    repl_pair.story("asked", component=lambda: 1)
    repl_pair.variant("asked/One")
    repl_pair.variant("asked/Two")
    with pytest.raises(RequestError, match=message) as refused:
        call()
    assert refused.value.code == code


def test_a_stop_before_a_coroutine_is_awaited_leaves_no_warning_for_a_later_cell():
    async def slow():
        return 1

    async def stop(awaitable):
        raise RunStopped(Stop("error", "stopped"))

    repl_pair.story("slow", component=slow)
    repl_pair.variant("slow/It")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RunStopped) as stopped:
            asyncio.run(execute(plan_variant("slow/It"), wait_for=stop))
        del stopped
        gc.collect()
    assert [str(one.message) for one in caught] == []


SEEN: list[weakref.ref] = []


class Held:
    """What a component holds where it raises."""

    def __init__(self):
        SEEN.append(weakref.ref(self))


def raise_here():
    held = Held()
    raise ValueError(id(held))


async def raise_later():
    await asyncio.sleep(0)
    raise_here()


class Raises:
    def act(self):
        raise_here()


CAUGHT = [check.raises("ValueError")]
RAISING = [
    ("at once", raise_here, [], "error"),
    ("at once, expected", raise_here, CAUGHT, "pass"),
    ("awaited", raise_later, [], "error"),
    ("awaited, expected", raise_later, CAUGHT, "pass"),
    ("in a step", Raises, [repl_pair.step.call("act")], "error"),
    ("in a step, expected", Raises, [repl_pair.step.call("act"), *CAUGHT], "pass"),
]


@pytest.mark.parametrize(
    ("component", "play", "status"), [row[1:] for row in RAISING], ids=[row[0] for row in RAISING]
)
def test_what_a_component_held_as_it_raised_is_freed_with_its_run(component, play, status):
    repl_pair.story("raising", component=component)
    repl_pair.variant("raising/A", play=play)
    gc.collect()
    gc.disable()
    try:
        assert repl_pair.run("raising/A").status == status
        # The thread of the loop lets go when it takes up something else.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), PRIVATE.loop).result()
        assert SEEN.pop()() is None
    finally:
        gc.enable()


def test_what_a_component_that_raised_left_unawaited_warns_in_its_own_run():
    def forget():
        later = asyncio.sleep(0)
        raise ValueError(id(later))

    repl_pair.story("forget", component=forget)
    repl_pair.variant("forget/A")
    (warning,) = repl_pair.run("forget/A").warnings
    assert "coroutine 'sleep' was never awaited" in warning


def leave():
    raise GeneratorExit("by itself")


async def leave_later():
    await asyncio.sleep(0)
    leave()


@pytest.mark.parametrize("component", [leave, leave_later])
def test_a_generator_exit_of_a_component_is_what_it_raised(component):
    repl_pair.story("leave", component=component)
    repl_pair.variant("leave/A")
    repl_pair.variant("leave/B", play=[check.raises("GeneratorExit")])
    runs = repl_pair.run("leave/A"), repl_pair.run("leave/B")
    expected = [("error", "GeneratorExit: by itself"), ("pass", "")]
    assert [(one.status, one.reason) for one in runs] == expected


def test_a_run_whose_coroutine_is_closed_ends_after_its_teardown():
    ended = []

    @repl_pair.loader("kept")
    def kept():
        yield 1
        ended.append("teardown")

    async def wait(n):
        await asyncio.Event().wait()

    repl_pair.story("wait", component=wait)
    repl_pair.variant("wait/A", args={"n": repl_pair.ref("kept")}, play=CAUGHT)

    async def main():
        waiting = repl_pair.arun("wait/A")
        waiting.send(None)
        waiting.close()

    asyncio.run(main())
    assert (ended, last_result("wait/A")) == (["teardown"], None)
