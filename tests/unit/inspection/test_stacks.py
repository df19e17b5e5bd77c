"""Where threads and tasks of this process stand: read without asking anything of the person's."""

import asyncio
import linecache
import sys
import threading
import types

import pytest

from repl_pair.runtime.inspection import stacks, suspended
from repl_pair.runtime.inspection.places import Places, describe_place, is_machinery, shown_places

STDLIB = linecache.__file__


def code_in(file, name="f"):
    return (lambda: None).__code__.replace(co_filename=file, co_name=name, co_qualname=name)


def stack(*files):
    """Return the places of a stack, the innermost first, a line in each file."""
    known = Places()
    return [known.of((code_in(file, f"f{at}"), 1)) for at, file in enumerate(files)]


OWN, PANDAS = "/home/ann/work.py", "/venv/lib/python3.11/site-packages/pandas/core/frame.py"
DEBUGGER = "/venv/lib/python3.11/site-packages/debugpy/_vendored/pydevd/pydevd.py"
KERNEL = "/venv/lib/python3.11/site-packages/ipykernel/kernelbase.py"


@pytest.mark.parametrize(
    ("file", "where", "is_own"),
    [
        (OWN, OWN, True),
        (PANDAS, "pandas/core/frame.py", False),
        (STDLIB, "linecache.py", False),
        (stacks.__file__, "repl_pair/runtime/inspection/stacks.py", False),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>", False),
        ("<timed exec>", "<timed exec>", True),
    ],
)
def test_a_place_is_a_file_of_the_persons_or_a_short_name_of_a_library(file, where, is_own):
    (place,) = stack(file)
    assert (place.where, place.is_own, place.is_cell) == (where, is_own, False)


@pytest.mark.parametrize(
    ("files", "kept", "left_out"),
    [
        ([OWN], [0], 0),
        ([STDLIB, STDLIB, PANDAS, OWN, KERNEL], [0, 2, 3], 1),
        ([OWN, PANDAS, PANDAS, PANDAS, OWN, KERNEL, KERNEL], [0, 3, 4], 2),
        ([STDLIB, PANDAS, PANDAS], [0, 2], 1),
        ([OWN] * 30, [*range(6), 27, 28, 29], 21),
    ],
)
def test_of_a_stack_the_own_lines_and_what_they_called_are_kept(files, kept, left_out):
    shown, more = shown_places(stack(*files), 9)
    assert ([place.function for place in shown], more) == ([f"f{at}" for at in kept], left_out)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([STDLIB, KERNEL, threading.__file__], True),
        ([STDLIB, OWN, KERNEL, threading.__file__], False),
        ([KERNEL, PANDAS, threading.__file__], False),
        ([STDLIB, threading.__file__], False),
        ([DEBUGGER, threading.__file__], True),
        ([PANDAS, threading.__file__, DEBUGGER], False),
        ([STDLIB, stacks.__file__], True),
    ],
)
def test_what_a_package_of_the_kernel_began_is_machinery_unless_it_calls_the_persons_code(
    files, expected
):
    assert is_machinery(stack(*files)) is expected


def test_lines_of_source_are_read_without_a_loader_and_without_literals_beside_secret_names(
    monkeypatch, tmp_path
):
    path = tmp_path / "work.py"
    path.write_text('password = "hunter2"\nplain = "plain"\n')
    asked = []

    class Loader:
        def get_source(self, name):
            asked.append(name)
            return "lied = 1\n"

    space = {"__name__": "odd", "__loader__": Loader()}
    monkeypatch.setitem(linecache.cache, "/nowhere/odd.py", None)
    del linecache.cache["/nowhere/odd.py"]
    assert linecache.lazycache("/nowhere/odd.py", space)
    known, code = Places(), code_in(str(path))
    lines = [(code, 1), (code, 2), (code, 3), (code_in("/nowhere/odd.py"), 1)]
    shown = [describe_place(known.of(line), code=True).get("code") for line in lines]
    assert shown == ['password = "[redacted]"', 'plain = "plain"', None, None]
    assert asked == []


class Ran(list):
    """What of the person's code ran."""


@pytest.fixture
def ran():
    return Ran()


def hostile_text(ran):
    def note(name):
        return lambda self, *args, **kwargs: ran.append(name)

    names = ("__str__", "__eq__", "__hash__", "__len__", "startswith", "split", "partition")
    return type("Text", (str,), {name: note(name) for name in (*names, "removeprefix", "replace")})


def test_names_of_a_class_of_the_persons_are_read_as_text(ran):
    text = hostile_text(ran)
    code = (lambda: None).__code__
    code = code.replace(co_filename=text(OWN), co_name=text("<module>"), co_qualname=text("f"))
    place = Places().of((code, 1))
    assert (type(place.where), type(place.function), place.where) == (str, str, OWN)
    assert stacks._cell_in(Places(), stacks.Stack(text("odd"), [(code, 1)], 1)) is None
    assert stacks._name_of(stacks.Stack(text("odd"), [], 1)) == "odd"
    assert ran == []


async def forever():
    await asyncio.Event().wait()


def tasks_by_name():
    return {each.named: each for each in stacks.task_stacks()}


@pytest.mark.parametrize("base", [asyncio.Task, asyncio.tasks._PyTask])
def test_tasks_of_any_class_are_read_without_being_asked_or_hashed(ran, base):
    class Task(base):
        armed = False

        def __getattribute__(self, name):
            if Task.armed:
                ran.append(name)
            return super().__getattribute__(name)

        def __hash__(self):
            if Task.armed:
                ran.append("__hash__")
            return 1

        def __eq__(self, other):
            if Task.armed:
                ran.append("__eq__")
            return self is other

        def __repr__(self):
            ran.append("__repr__")
            return "x"

        def get_coro(self):
            ran.append("get_coro")

        def get_name(self):
            ran.append("get_name")

        __class__ = property(lambda self: ran.append("__class__") or int)

    async def look():
        loop = asyncio.get_running_loop()
        kept = [Task(forever(), loop=loop, name=f"mine-{n}") for n in range(2)]
        await asyncio.sleep(0)
        ran.clear()
        Task.armed = True
        found = tasks_by_name()
        Task.armed = False
        for task in kept:
            base.cancel(task)
        await asyncio.sleep(0)
        return found

    found = asyncio.run(look())
    assert ran == []
    assert {"mine-0", "mine-1"} <= set(found)
    assert found["mine-0"].lines[-1][0] is forever.__code__


def test_an_object_with_names_of_a_coroutine_ends_the_chain(ran):
    class Lies:
        cr_await = gi_yieldfrom = cr_frame = cr_code = ag_frame = property(
            lambda self: ran.append("asked")
        )
        __class__ = property(lambda self: ran.append("__class__") or types.CoroutineType)

        def __await__(self):
            return self

        def __next__(self):
            return None

        __iter__ = __await__

    async def lie():
        await Lies()

    async def begin():
        await lie()

    coroutine = begin()
    coroutine.send(None)
    lines = suspended.lines_of(coroutine)
    coroutine.close()
    assert [code.co_name for code, _ in lines] == ["lie", "begin"]
    assert suspended.lines_of(Lies()) == suspended.lines_of(None) == []
    assert ran == []


@types.coroutine
def pause():
    yield


async def ticks():
    await pause()
    yield 1


async def wrapped():
    await pause()


WAITS = {
    "a coroutine that is wrapped": wrapped().__await__,
    "an asynchronous generator": lambda: ticks().asend(None),
    "its default": lambda: anext(ticks(), None),
}


class Awaitable:
    def __init__(self, iterator):
        self.iterator = iterator

    def __await__(self):
        return self.iterator


@pytest.mark.parametrize("how", WAITS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_chain_goes_on_behind_what_the_interpreter_wraps(how):
    async def follow():
        made = WAITS[how]()
        await (made if hasattr(made, "__await__") else Awaitable(made))

    coroutine = follow()
    coroutine.send(None)
    names = [code.co_name for code, _ in suspended.lines_of(coroutine)]
    coroutine.close()
    assert names[0] == "pause"
    assert names[-1] == "follow"
    assert {"ticks", "wrapped"} & set(names)


def test_of_too_many_frames_and_tasks_as_many_are_read_as_are_bounded(monkeypatch):
    monkeypatch.setattr(stacks, "MAX_LINES", 40)
    monkeypatch.setattr(stacks, "MAX_DEEP", 30)
    monkeypatch.setattr(suspended, "MAX_TASKS", 100)
    over, there = threading.Event(), threading.Barrier(4)

    def down(n):
        return there.wait() is not None and over.wait() if n == 0 else down(n - 1)

    threads = [threading.Thread(target=down, args=(50,)) for _ in range(3)]
    for each in threads:
        each.start()
    there.wait()

    async def look():
        kept = [asyncio.create_task(forever()) for _ in range(300)]
        await asyncio.sleep(0)
        found = list(suspended.waiting_tasks())
        for task in kept:
            task.cancel()
        return found

    lines = [len(each.lines) for each in stacks.thread_stacks()]
    found = asyncio.run(look())
    over.set()
    for each in threads:
        each.join()
    assert sum(lines) == 40  # other threads of this process may be among them
    assert max(lines) <= 30
    assert 0 < len(found) <= 100  # tasks of other tests that are done may be among the hundred


def test_a_thread_without_a_name_and_one_that_is_none_are_shown_as_such(monkeypatch):
    odd = threading.Thread()
    vars(odd)["_name"] = 7
    assert stacks._name_of(stacks.Stack(odd, [], 1)) == "?"
    assert stacks._name_of(stacks.Stack(None, [], 1)) == "?"
    assert stacks._name_of(stacks.Stack(object(), [], 1)) == "?"


def test_the_registries_of_tasks_that_this_python_has_are_known():
    if not suspended.LISTS_ALL_TASKS:
        pytest.skip("this Python keeps its tasks elsewhere")
    names = ("_all_tasks",) if sys.version_info < (3, 12) else ("_scheduled_tasks", "_eager_tasks")
    assert set(names) <= set(suspended._REGISTRIES) & set(vars(asyncio.tasks))
