import asyncio
import contextvars
import datetime
import functools
import gc
import inspect
import itertools
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from unittest import mock

import pytest
from bounds import BOUND_S

import repl_pair
from repl_pair import stub
from repl_pair.errors import AuthoringError
from repl_pair.runtime.stopping.loops import PRIVATE

SHOP = '''
import functools

def now():
    """Tell the time."""
    return "real"

def price(item, *, tax=0.0) -> float:
    return 1.0

def counted():
    counted.calls += 1
    return counted.calls
counted.calls = 0

@functools.lru_cache
def cached():
    return object()

halved = functools.partial(divmod, 7)

async def fetch(n=1):
    return ["real", n]

def numbers():
    got = yield "real"
    yield ["real", got]

async def rows():
    try:
        yield "real"
        yield "more"
    finally:
        rows.ended = True

class Base:
    def inherited(self):
        return ["real", self.name]

class Service(Base):
    name = "service"
    builtin = len

    def method(self, n=1):
        return ["real", self.name, n]

    @staticmethod
    def static(n=1):
        return ["real", n]

    @classmethod
    def made(cls, n=1):
        return ["real", cls.__name__, n]

    @property
    def prop(self):
        return "real"

    class Inner:
        def method(self):
            return "real"

class Slotted:
    __slots__ = ()
    def method(self):
        return "real"

service = Service()
slotted = Slotted()
RATE = 0.19
'''


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


@pytest.fixture
def shop(module):
    return module("shop", SHOP)


@pytest.fixture
def elsewhere():
    """Calls a function on a thread that knows nothing of this context."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda fn, *args: pool.submit(fn, *args).result(30)


def fake(*args, **kwargs):
    return ["fake", *args, *kwargs.values()]


def entries(owner):
    """Return what an owner's own entries are, in order."""
    return [(name, id(entry)) for name, entry in vars(owner).items()]


# --- who gets what


PLACES = {
    "a function": ("shop.now", lambda s: s.now(), []),
    "a function with arguments": ("shop.price", lambda s: s.price("tea", tax=2), ["tea", 2]),
    "a method": ("shop.Service.method", lambda s: s.service.method(2), ["self", 2]),
    "an inherited method": ("shop.Service.inherited", lambda s: s.service.inherited(), ["self"]),
    "a static method": ("shop.Service.static", lambda s: s.service.static(2), [2]),
    "a class method": ("shop.Service.made", lambda s: s.Service.made(2), ["cls", 2]),
    "a method of a class in a class": (
        "shop.Service.Inner.method",
        lambda s: s.Service.Inner.method("self"),
        ["self"],
    ),
    "a builtin in a class": ("shop.Service.builtin", lambda s: s.service.builtin("abc"), ["abc"]),
    "a method of an instance": ("shop.service.method", lambda s: s.service.method(2), [2]),
    "a function with a cache": ("shop.cached", lambda s: s.cached(), []),
    "a builtin": ("os.getpid", lambda s: os.getpid(), []),
    "a bound method in a module": ("random.randint", lambda s: random.randint(1, 1), [1, 1]),
    "the builtins": ("builtins.open", lambda s: open("no such file"), ["no such file"]),  # noqa: SIM115
}


@pytest.mark.parametrize("kind", PLACES)
def test_only_this_context_gets_the_replacement_and_the_attribute_is_put_back(
    shop, elsewhere, kind
):
    name, call, wanted = PLACES[kind]
    first, *path = name.split(".")[:-1]
    owner = functools.reduce(getattr, path, sys.modules[first])
    before = entries(owner)
    known = {"self": shop.service, "cls": shop.Service}

    def real():
        try:
            return repr(call(shop))[:5]
        except (OSError, AttributeError) as error:
            return repr(error)

    real_before = real()
    with stub(name, fake) as given:
        assert given is fake
        assert entries(owner) != before
        assert call(shop) in (["fake", *[known.get(w, w) for w in wanted]], ["fake", *wanted])
        assert elsewhere(real) == real_before
        assert contextvars.copy_context().run(call, shop)[0] == "fake"
    assert entries(owner) == before
    assert real() == real_before


def test_tasks_and_threads_of_this_context_get_the_replacement_and_no_others_do(shop):
    async def call():
        await asyncio.sleep(0)
        return shop.now()

    async def all_of_them():
        stop = asyncio.Event()
        seen = Counter()

        async def work_beside():
            while not stop.is_set():
                seen[shop.now()] += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(work_beside())
        await asyncio.sleep(0)

        async def run():
            with stub("shop.now", lambda: "fake"):
                task = asyncio.create_task(call())
                in_thread = asyncio.to_thread(shop.now)
                found = [*await asyncio.gather(call(), task, in_thread), shop.now()]
            return [*found, shop.now()]

        found = await asyncio.create_task(run())
        assert shop.now() == "real"
        stop.set()
        await beside
        return found, seen

    found, seen = asyncio.run(all_of_them())
    assert found == ["fake", "fake", "fake", "fake", "real"]
    assert set(seen) == {"real"}
    assert seen["real"] > 2


def test_what_outlives_a_stub_gets_the_original(shop):
    go, answers = threading.Event(), []

    def later():
        assert go.wait(30)
        answers.append(shop.now())

    async def run():
        async def later_too():
            await asyncio.to_thread(go.wait, 30)
            answers.append(shop.now())

        with stub("shop.now", lambda: "fake"):
            thread = threading.Thread(target=contextvars.copy_context().run, args=(later,))
            thread.start()
            task = asyncio.create_task(later_too())
            held = contextvars.copy_context()
            await asyncio.sleep(0)
        with stub("shop.price", fake):
            go.set()
            await task
        await asyncio.to_thread(thread.join)
        assert held.run(shop.now) == "real"

    asyncio.run(run())
    assert answers == ["real", "real"]


def test_of_several_stubs_the_innermost_counts_and_they_may_end_in_any_order(shop):
    original = shop.now
    first, second = stub("shop.now", lambda: 1), stub("shop.now", lambda: 2)
    first.__enter__()
    second.__enter__()
    assert shop.now() == 2
    with stub("shop.now", lambda: 3):
        assert shop.now() == 3
        first.__exit__(None, None, None)
        assert shop.now() == 3
    assert shop.now() == 2
    second.__exit__(None, None, None)
    assert shop.now is original
    with ExitStack() as stack:
        stack.enter_context(stub("shop.now", lambda: 4))
        assert shop.now() == 4
    assert shop.now is original


def test_inside_a_replacement_the_name_is_the_next_stub_outwards(shop):
    async def outer(n=1):
        return [*await shop.fetch(n), "outer"]

    with (
        stub("shop.now", lambda: shop.now() + " once"),
        stub("shop.now", lambda: shop.now() + " twice"),
        stub("shop.fetch", outer),
        stub("shop.fetch", lambda n=1: [n, shop.now()]),
    ):
        assert shop.now() == "real once twice"
        assert asyncio.run(shop.fetch(2)) == [2, "real once twice"]
    with stub("shop.fetch", outer):
        assert asyncio.run(shop.fetch(2)) == ["real", 2, "outer"]


def test_a_reference_to_the_dispatcher_goes_the_way_of_the_name(shop, elsewhere):
    with stub("shop.now", lambda: "fake"):
        grabbed, bound = shop.now, shop.service.method
    assert (grabbed(), shop.now is grabbed) == ("real", False)
    assert bound() == ["real", "service", 1]
    with stub("shop.now", lambda: "fake again"):
        assert grabbed() == "fake again"
        assert elsewhere(grabbed) == "real"
    assert grabbed() == "real"


def test_who_defines_the_name_anew_meanwhile_keeps_their_own(shop, elsewhere):
    def theirs():
        return "theirs"

    with stub("shop.now", lambda: "fake"):
        old = shop.now
        shop.now = theirs
        assert (shop.now(), old()) == ("theirs", "fake")
        with stub("shop.now", lambda: "inner"):
            assert (shop.now(), elsewhere(shop.now)) == ("inner", "theirs")
        assert (shop.now(), elsewhere(shop.now)) == ("fake", "theirs")
    assert shop.now is theirs
    assert old() == "real"
    with stub("shop.now", lambda: "fake"):
        del shop.now
    assert not hasattr(shop, "now")


def test_a_patch_that_outlasts_the_stub_leaves_a_dispatcher_only_until_the_next_one(shop):
    original = shop.now
    held, patch = stub("shop.now", lambda: "fake"), mock.patch("shop.now", return_value="patched")
    held.__enter__()
    patch.start()
    held.close()
    assert shop.now() == "patched"
    patch.stop()
    assert (shop.now(), shop.now is original) == ("real", False)
    with stub("shop.now", lambda: "fake"):
        assert shop.now() == "fake"
    assert shop.now is original


def test_an_exception_ends_the_stub_and_comes_through(shop):
    original = shop.now
    with pytest.raises(ZeroDivisionError), stub("shop.now", lambda: 1 // 0):
        shop.now()
    assert shop.now is original


def test_a_stub_that_is_lost_ends_when_it_is_collected(shop):
    original = shop.now

    def loader():
        with stub("shop.now", lambda: "fake"):
            yield

    lost = loader()
    next(lost)
    assert shop.now() == "fake"
    del lost
    gc.collect()
    assert shop.now is original


def test_a_stub_is_entered_once(shop):
    once = stub("shop.now", lambda: "fake")
    with once:
        with pytest.raises(AuthoringError, match="entered once"):
            once.__enter__()
        assert shop.now() == "fake"
    with pytest.raises(AuthoringError, match="entered once"):
        once.__enter__()


# --- for everybody else it is the original


@pytest.fixture
def stubbed(shop):
    """The shop while another context has stubs over all that is in it."""
    names = ("now", "price", "counted", "cached", "fetch", "numbers", "rows")
    originals = {name: getattr(shop, name) for name in names}
    elsewhere = contextvars.copy_context()
    stack = ExitStack()
    for name in names:
        elsewhere.run(stack.enter_context, stub(f"shop.{name}", fake))
    assert [elsewhere.run(getattr(shop, n)) for n in ("now", "cached")] == [["fake"], ["fake"]]
    yield shop, originals
    elsewhere.run(stack.close)
    assert {name: getattr(shop, name) for name in names} == originals


def test_a_dispatcher_passes_for_the_function(stubbed):
    shop, originals = stubbed
    for name, original in originals.items():
        dispatcher = getattr(shop, name)
        assert dispatcher is not original
        assert (dispatcher, original) == (original, dispatcher)
        assert isinstance(dispatcher, type(original))
        for look in (
            inspect.signature,
            inspect.getdoc,
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
            inspect.isfunction,
            inspect.isroutine,
            asyncio.iscoroutinefunction,
            hash,
            repr,
            dir,
            lambda fn: getattr(fn, "__name__", None),
            lambda fn: getattr(fn, "__qualname__", None),
            lambda fn: getattr(fn, "__module__", None),
            lambda fn: getattr(fn, "__annotations__", None),
            lambda fn: getattr(fn, "__wrapped__", None),
        ):
            assert look(dispatcher) == look(original), (name, look)
    assert inspect.iscoroutinefunction(shop.fetch)
    assert pickle.loads(pickle.dumps(shop.price)) is shop.price


def test_what_a_function_keeps_in_attributes_stays_its_own(stubbed):
    shop, originals = stubbed
    assert [shop.counted(), shop.counted()] == [1, 2]
    shop.counted.limit = 5
    assert (originals["counted"].calls, originals["counted"].limit) == (2, 5)
    del shop.counted.limit
    assert not hasattr(originals["counted"], "limit")
    first = shop.cached()
    assert shop.cached() is first
    shop.cached.cache_clear()
    assert shop.cached() is not first
    assert shop.cached.cache_info().misses == 1


def test_coroutines_and_generators_are_those_of_the_original(stubbed):
    shop, _ = stubbed

    async def use():
        assert await shop.fetch(2) == ["real", 2]
        agen = shop.rows()
        assert await agen.__anext__() == "real"
        await agen.aclose()
        assert shop.rows.ended
        return [row async for row in shop.rows()]

    assert asyncio.run(use()) == ["real", "more"]
    numbers = shop.numbers()
    assert (next(numbers), numbers.send(3)) == ("real", ["real", 3])


def test_a_replacement_may_be_asynchronous_a_generator_or_plain_where_the_original_is_not(shop):
    async def fetched(n=1):
        await asyncio.sleep(0)
        return ["fake", n]

    def numbers():
        yield "fake"

    async def rows():
        yield "fake"

    async def use():
        plain = stub("shop.fetch", lambda n=1: ["plain", n])
        with stub("shop.numbers", numbers), stub("shop.rows", rows), stub("shop.fetch", fetched):
            found = [await shop.fetch(), [*shop.numbers()], [row async for row in shop.rows()]]
            with plain:
                found.append(await shop.fetch())
                later = shop.fetch(2)
        return [*found, await later]

    found = asyncio.run(use())
    assert found == [["fake", 1], ["fake"], ["fake"], ["plain", 1], ["plain", 2]]


def test_the_hash_of_code_does_not_see_the_stubs_of_others(tmp_path, monkeypatch):
    source = "def now(): return 1\ndef quote(): return now()\n"
    (tmp_path / "quoting.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import quoting

    repl_pair.story("quote", component=quoting.quote)
    repl_pair.variant("quote/A", play=[repl_pair.check.path_equals("result", 1)])
    before = repl_pair.snapshot_identity("quote/A")
    held, elsewhere = ExitStack(), contextvars.copy_context()
    elsewhere.run(held.enter_context, stub("quoting.now", lambda: 2))
    elsewhere.run(held.enter_context, stub("quoting.quote", lambda: 3))
    record = repl_pair.run("quote/A")
    assert (record.status, record.identity) == ("pass", before)
    assert before.code_hash != "unknown"
    elsewhere.run(held.close)
    del sys.modules["quoting"]


# --- what may not be stubbed


@pytest.mark.parametrize(
    ("name", "code", "shown"),
    [
        ("shop.Service", "bad_body", "it is a class"),
        ("shop.Service.prop", "bad_body", "it is a property"),
        ("shop.service.prop", "bad_body", "it is a property"),
        ("shop.RATE", "bad_body", "it is a float"),
        ("shop.halved", "bad_body", "it is a partial"),
        ("shop.functools", "bad_body", "it is a module"),
        ("shop.slotted.method", "bad_body", "it cannot be set"),
        ("shop.Service.__new__", "bad_body", "it cannot be set"),
        ("datetime.datetime.now", "bad_body", "it cannot be set"),
        ("shop.nwo", "not_found", r"shop has no 'nwo'\. Nearest: shop\.now"),
        ("shop.Servce.method", "not_found", r"there is no shop\.Servce\. Nearest: shop\.Service"),
        ("shpo.now", "not_found", r"there is no shpo\. Nearest: shop"),
        ("now", "not_found", "a dotted name is"),
        ("shop..now", "not_found", "a dotted name is"),
        ("repl_pair.run", "bad_body", "repl_pair itself"),
        ("repl_pair.runtime.running.runner.execute", "bad_body", "repl_pair itself"),
        ("repl_pair.registry.find", "bad_body", "repl_pair itself"),
        ("repl_pair.Sensitive.x", "not_found", "has no 'x'"),
        ("repl_pair.nothing.at.all", "not_found", "there is no repl_pair.nothing"),
    ],
)
def test_what_cannot_be_stubbed_is_refused_with_what_to_do(shop, name, code, shown):
    before = {owner: entries(owner) for owner in (shop, shop.Service, shop.Slotted)}
    with pytest.raises(AuthoringError, match=shown) as refused, stub(name, fake):
        pytest.fail("it was not refused")
    assert refused.value.code == code
    assert {owner: entries(owner) for owner in before} == before
    assert not vars(shop.service)
    assert datetime.datetime.now()


def test_a_replacement_that_cannot_be_called_is_refused(shop):
    with pytest.raises(AuthoringError, match="is a int, which cannot be called") as refused:
        stub("shop.now", 5)
    assert refused.value.code == "bad_body"


def test_a_module_is_imported_for_its_stub_and_its_own_faults_come_through(tmp_path, monkeypatch):
    (tmp_path / "unloaded.py").write_text("def now(): return 'real'")
    (tmp_path / "broken.py").write_text("import no_such_module_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with stub("unloaded.now", lambda: "fake"):
        import unloaded

        assert unloaded.now() == "fake"
    del sys.modules["unloaded"]
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        stub("broken.now", fake)


def test_the_stubs_are_loaded_with_the_first_one():
    code = (
        "import sys, repl_pair; print('repl_pair.runtime.running.stubs' in sys.modules, end=' ');"
    )
    code += "from repl_pair import stub; print('stub' in dir(repl_pair), stub is repl_pair.stub)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False True True\n"


# --- in runs


@pytest.fixture
def user():
    return contextvars.ContextVar("user", default="nobody")


@pytest.fixture
def quoted(shop, user):
    """Stories whose loaders stub and set, with a plain and an asynchronous component."""

    @repl_pair.loader("plain")
    def plain():
        token = user.set("ada")
        with stub("shop.now", lambda: "fake"):
            yield
        user.reset(token)

    @repl_pair.loader("asynchronous")
    async def asynchronous():
        token = user.set("ada")
        with stub("shop.now", lambda: "fake"):
            await asyncio.sleep(0)
            yield
        user.reset(token)

    def quote():
        return [shop.now(), user.get()]

    async def quote_later():
        await asyncio.sleep(0)
        return [shop.now(), user.get()]

    for name, component in (("plain", quote), ("later", quote_later)):
        repl_pair.story(name, component=component)
        repl_pair.variant(f"{name}/Plain", loaders=["plain"])
        repl_pair.variant(f"{name}/Asynchronous", loaders=["asynchronous"])
        repl_pair.variant(f"{name}/Both", loaders=["asynchronous", "plain", "asynchronous"])
    return shop


@pytest.mark.parametrize("loaders", ["Plain", "Asynchronous", "Both"])
@pytest.mark.parametrize("component", ["plain", "later"])
def test_what_a_loader_sets_and_stubs_holds_for_the_run_and_ends_with_it(
    quoted, user, component, loaders
):
    original = quoted.now
    variant_id = f"{component}/{loaders}"

    async def await_it():
        record = await repl_pair.arun(variant_id)
        return record, user.get()

    def in_one_context():
        return repl_pair.run(variant_id), user.get()

    for record, after in (
        asyncio.run(await_it()),
        in_one_context(),
        contextvars.Context().run(in_one_context),
    ):
        assert (record.status, record.reason, after) == ("pass", "", "nobody")
        assert record.result == ["fake", "ada"]
    assert quoted.now is original


def test_threads_that_a_run_starts_get_its_stubs_while_it_lasts(shop):
    go, answers, started = threading.Event(), [], []

    @repl_pair.loader("frozen")
    def frozen():
        with stub("shop.now", lambda: "fake"):
            yield

    def later():
        assert go.wait(30)
        answers.append(shop.now())

    def quote():
        thread = threading.Thread(target=lambda: answers.append(shop.now()))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            answers.append(pool.submit(shop.now).result(30))
        started.append(threading.Thread(target=later))
        started[0].start()

    repl_pair.story("quote", component=quote)
    repl_pair.variant("quote/A", loaders=["frozen"])
    assert repl_pair.run("quote/A").status == "pass"
    go.set()
    started[0].join()
    assert answers == ["fake", "fake", "real"]


def test_a_value_that_the_loop_sets_and_leaves_is_seen_here_as_is_one_that_was_set_here(user):
    seen = []

    @repl_pair.loader("set_here")
    def set_here():
        user.set("here")

    @repl_pair.loader("set_there")
    async def set_there():
        seen.append(user.get())
        user.set("there")

    repl_pair.story("who", component=lambda: user.get())
    repl_pair.variant("who/A", loaders=["set_here", "set_there"])
    assert contextvars.copy_context().run(repl_pair.run, "who/A").result == "there"
    assert seen == ["here"]


def test_what_repl_pair_itself_calls_in_a_run_is_no_stub(shop):
    @repl_pair.loader("frozen")
    def frozen():
        with stub("time.perf_counter", lambda: "frozen"):
            yield

    repl_pair.story("clock", component=lambda: time.perf_counter())
    repl_pair.variant("clock/A", loaders=["frozen"])
    record = repl_pair.run("clock/A")
    assert (record.status, record.result) == ("pass", "frozen")
    assert record.elapsed_ms > 0


# --- counts


SIGNALS = 2_000
RUNS = 10_000
THREADS = 8
AT_ONCE = 100


class Struck(BaseException):
    pass


def met(work):
    """Do work that is struck sooner or later; give what was raised, as a shell keeps it."""
    try:
        work()
        while True:
            pass
    except Struck as struck:
        return struck


def place_of(struck):
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(struck.__traceback__)]
    return names[-2] if names[-1] == "strike" else names[-1]


def strike(number, frame):
    raise Struck


def test_two_thousand_signals_at_random_moments_leave_nothing_behind(shop):
    original, where, left = shop.now, Counter(), 0

    def work():
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 8e-5))
        with stub("shop.now", lambda: "fake"):
            assert shop.now() == "fake"

    def inside():
        return {name: n for name, n in where.items() if name not in ("met", "work")}

    before, until = signal.signal(signal.SIGALRM, strike), time.monotonic() + BOUND_S
    try:
        while where.total() < SIGNALS or (len(inside()) <= 5 and time.monotonic() < until):
            struck = met(work)
            where[place_of(struck)] += 1
            left += shop.now is not original or shop.now() != "real"
    finally:
        signal.signal(signal.SIGALRM, before)
    own = sum(inside().values())
    print(f"\n{where.total()} signals, {own} of them in the stub's own code: {left} left")
    assert left == 0
    assert len(inside()) > 5, "the signals never met the stub"


@pytest.mark.full
def test_ten_thousand_overlapping_runs_each_see_their_own_stub_and_nobody_else_sees_any(shop):
    original, over, numbers = shop.now, threading.Event(), itertools.count(1)
    mine, running, most, persons = contextvars.ContextVar("mine"), set(), [0], Counter()

    def begin():
        number = next(numbers)
        mine.set(number)
        running.add(number)
        most[0] = max(most[0], len(running))
        return stub("shop.now", lambda: number)

    @repl_pair.loader("own")
    def own():
        with begin():
            yield
        running.discard(mine.get())

    @repl_pair.loader("own_later")
    async def own_later():
        with begin():
            await asyncio.sleep(0)
            yield
        running.discard(mine.get())

    def quote():
        found = []
        for _ in range(3):
            found.append(shop.now() == mine.get())
            time.sleep(0)
        return found

    async def quote_later():
        found = []
        for _ in range(3):
            found.append(shop.now() == mine.get())
            await asyncio.sleep(0)
        if mine.get() % 100 == 0:
            found.append(await asyncio.to_thread(shop.now) == mine.get())
        return found

    for name, component in (("quote", quote), ("quote_later", quote_later)):
        repl_pair.story(name, component=component)
        repl_pair.variant(f"{name}/Own", loaders=["own"])
        repl_pair.variant(f"{name}/Later", loaders=["own_later"])

    def right(record):
        return record.status == "pass" and len(record.result) >= 3 and all(record.result)

    def in_a_thread(count):
        names = ["quote/Own"] * 7 + ["quote/Later"]
        return sum(
            right(repl_pair.run(name)) for _, name in zip(range(count), itertools.cycle(names))
        )

    async def as_task(number):
        return right(await repl_pair.arun(f"quote_later/{'Own' if number % 2 else 'Later'}"))

    def in_between():
        while not over.is_set():
            persons[shop.now()] += 1
            time.sleep(0.0002)

    async def beside():
        while not over.is_set():
            persons[shop.now()] += 1
            await asyncio.sleep(0)

    async def all_of_them():
        person = asyncio.create_task(beside())
        share = RUNS // 2 // THREADS
        threads = asyncio.gather(*(asyncio.to_thread(in_a_thread, share) for _ in range(THREADS)))
        seen = 0
        for _ in range(RUNS // 2 // AT_ONCE):
            persons[shop.now()] += 1
            seen += sum(await asyncio.gather(*map(as_task, range(AT_ONCE))))
        seen += sum(await threads)
        over.set()
        await person
        return seen

    thread = threading.Thread(target=in_between)
    thread.start()
    try:
        seen = asyncio.run(all_of_them())
    finally:
        over.set()
        thread.join()
    print(
        f"\n{RUNS} runs, up to {most[0]} at once: {seen} saw their own stub only; "
        f"{persons.total()} calls of others in between: {dict(persons)}"
    )
    assert seen == RUNS
    assert set(persons) == {"real"}
    assert most[0] > AT_ONCE
    assert shop.now is original
