import base64
import contextvars
import gc
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from contextlib import nullcontext, redirect_stdout
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pandas
import pytest

import repl_pair
from repl_pair.runtime.capture import (
    bundles,
    capture as capturing,
    captured as bounds,
    person_calls,
)
from repl_pair.runtime.capture.capture import capture, install, uninstall
from repl_pair.runtime.capture.captured import CAPTURED, PLACE, RUN, Captured
from repl_pair.runtime.capture.late_imports import watch_late

ROUNDS = 10_000


@pytest.fixture(autouse=True)
def nothing_is_left_in():
    yield
    uninstall()


class Interrupted(BaseException):
    pass


def test_an_interrupt_at_any_moment_leaves_nothing_of_a_run_behind():
    def interrupt(*_):
        raise Interrupted

    def state():
        return (
            CAPTURED.get(),
            PLACE.get(),
            list(warnings.filters),
            warnings.showwarning,
            [finder for finder in sys.meta_path if "repl_pair" in str(type(finder))],
        )

    before = state()
    handler = signal.signal(signal.SIGALRM, interrupt)
    hits = recorded = 0
    try:
        for number in range(ROUNDS):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + 6e-8 * (number % 2_000))
                with capture(exclusive=True) as captured:
                    recorded += "warnings" in captured.kept
                    print("run")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                hits += 1
            assert state() == before
            with capture(exclusive=True) as captured:
                assert captured.kept["warnings"] == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    print(f"{ROUNDS} runs, {hits} interrupted")
    assert hits > ROUNDS / 10
    assert recorded > ROUNDS / 100


def test_a_stream_is_reported_as_it_stands_however_often_it_was_asked():
    with capture(exclusive=True) as captured:
        assert captured.so_far("stdout") == ""
        print("one", end="|")
        print("two", end="|")
        assert [captured.so_far("stdout") for _ in range(2)] == ["one|two|"] * 2
        print("three", end="")
        assert captured.so_far("stdout") == "one|two|three"
    assert captured.text("stdout") == "one|two|three"


def test_what_a_run_states_is_bounded_together_and_what_is_dropped_is_counted(monkeypatch):
    monkeypatch.setattr(bounds, "LIMIT_CHARS", 20)
    with capture(exclusive=True) as captured:
        print("0123456789")
        logging.getLogger("a").error("b")
        print("0123456789", file=sys.stderr)
        warnings.warn("late", stacklevel=1)
        print("more")
    assert captured.text("stdout") == "0123456789\n\n[5 more characters were not kept]"
    assert captured.text("stderr") == "\n[11 more characters were not kept]"
    assert captured.entries("logs") == ("ERROR a: ", "[1 more characters were not kept]")
    assert captured.entries("warnings") == ("[17 more characters were not kept]",)
    assert captured.text("unattributed") == ""


def test_what_a_run_shows_is_bounded_in_number_and_size(monkeypatch):
    monkeypatch.setattr(bounds, "LIMIT_OUTPUTS", 3)
    monkeypatch.setattr(bounds, "LIMIT_OUTPUT_CHARS", 10)
    monkeypatch.setattr(bundles, "LIMIT_CHARS", 8)
    out = Captured()
    out.show({"text/plain": "x" * 9})
    assert out.bundles() == ({"text/plain": "[1 more outputs were not kept]"},)
    out = Captured()
    out.show({"text/plain": "12345"}, display_id="a")
    out.show({"text/plain": "12345678"})
    out.show({"text/plain": "123"}, display_id="a", update=True)
    out.show({"text/plain": "1234"})
    for _ in range(2):
        out.show({"image/png": b"1"})
    kept = ({"text/plain": "123"}, {"text/plain": "1234"})
    assert out.bundles() == (*kept, {"text/plain": "[3 more outputs were not kept]"})
    huge = {"image/png": "[image/png of 12 characters is over the limit of 8]"}
    assert bundles.bounded({"image/png": b"1" * 9}) == huge


def test_an_update_that_does_not_fit_is_dropped_and_counted_and_what_it_was_to_replace_stays(
    monkeypatch,
):
    monkeypatch.setattr(bounds, "LIMIT_OUTPUT_CHARS", 10)
    out = Captured()
    out.show({"text/plain": "1234"}, display_id="a")
    out.show({"text/plain": "1234"})
    for text in ("12345678", "123456", "1234567"):
        out.show({"text/plain": text}, display_id="a", update=True)
    kept = ({"text/plain": "123456"}, {"text/plain": "1234"})
    assert out.bundles() == (*kept, {"text/plain": "[2 more outputs were not kept]"})


def test_an_update_replaces_all_of_its_id_and_a_clearing_waits_for_the_next():
    out = Captured()
    out.show({"n": 1}, display_id="a")
    out.show({"n": 2})
    out.show({"n": 3}, display_id="a")
    out.show({"n": 4}, display_id="a", update=True)
    assert out.bundles() == ({"n": 4}, {"n": 2}, {"n": 4})
    out.clear(wait=True)
    assert len(out.bundles()) == 3
    out.show({"n": 5}, display_id="a", update=True)
    assert out.bundles() == ({"n": 5},)


class Own:
    """A stream of the person's, written in Python; its lines do not go through `write`."""

    def __init__(self):
        self.written = []

    def write(self, text):
        self.written.append(text)
        return len(text)

    def writelines(self, lines):
        self.written.extend(lines)

    def flush(self):
        pass


class Slotted(Own):
    __slots__ = ("written",)


@pytest.mark.parametrize("kind", [Own, Slotted, io.StringIO])
def test_streams_of_any_kind_keep_runs_apart_and_are_as_before_afterwards(kind):
    stream = kind()
    names = dict(getattr(stream, "__dict__", {}))
    with redirect_stdout(stream):
        print("a")
        with capture(exclusive=False) as captured:
            print("b")
            sys.stdout.writelines(["c", "d"])
            with pytest.raises(TypeError, match="must be str, not int"):
                sys.stdout.write(5)
        sys.stdout.writelines(["e"])
        assert isinstance(stream, kind)
        uninstall()
        print("f")
    written = stream.getvalue() if kind is io.StringIO else "".join(stream.written)
    assert (written, captured.text("stdout")) == ("a\nef\n", "b\ncd")
    assert type(stream) is kind
    assert dict(getattr(stream, "__dict__", {})).keys() == names.keys()


def test_a_write_that_somebody_sets_and_takes_back_stays_their_own():
    stream = Own()
    with redirect_stdout(stream):
        install()
        with mock.patch.object(stream, "write", lambda text: stream.written.append(text.upper())):
            print("a", end="")
            with capture(exclusive=False) as captured:
                print("b", end="")
            print("c", end="")
        print("d", end="")
        first = stream.write
        stream.write = second = stream.written.append
        uninstall()
        assert stream.write == second
        stream.write = first
        install()
        print("e", end="")
        uninstall()
    assert "".join(stream.written) == "ACde"
    assert captured.text("stdout") == "b"


def test_a_stream_that_was_only_for_a_while_is_not_kept_alive():
    gone = []
    for kind in (Own, io.StringIO):
        with redirect_stdout(kind()) as stream, capture(exclusive=False):
            print("run")
        gone.append(weakref.ref(stream))
        del stream
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_a_run_within_a_run_has_what_it_states_to_itself():
    with capture(exclusive=True) as outer:
        print("outer")
        thread_says = []

        def inner():
            with capture(exclusive=True) as captured:
                print("inner")
            thread_says.append(captured.text("stdout"))
            print("thread")

        inner()
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()
    assert thread_says == ["inner\n", "inner\n"]
    assert outer.text("stdout") == "outer\nthread\n"
    assert outer.text("unattributed") == "thread\n"


def test_a_thread_takes_its_run_along_and_nothing_else_of_the_context():
    mine = contextvars.ContextVar("mine", default="unset")
    seen = []

    class Started(threading.Thread):
        def run(self):
            seen.append((mine.get(), CAPTURED.get(), "run" in vars(self)))

    install()
    mine.set("set")
    Started().start()
    with capture(exclusive=False) as captured:
        for _ in range(2):
            thread = Started()
            thread.start()
            thread.join()
        with pytest.raises(RuntimeError, match="once"):
            thread.start()
        assert "run" not in vars(thread)
    assert seen == [("unset", None, False), *[("unset", captured, False)] * 2]


def test_values_are_rendered_as_a_front_end_would_show_them():
    class Rich:
        def _repr_mimebundle_(self, include, exclude):
            return {"text/html": "bundle", "text/plain": "plain"}, {"metadata": 1}

        def _repr_png_(self):
            return b"png", {"width": 1}

        def _repr_svg_(self):
            return None

    repl_pair.story("rich", component=lambda: {"class": Rich, "a": Rich(), "n": 1})
    repl_pair.variant("rich/A")
    png = base64.b64encode(b"png").decode()
    bundle = {"text/html": "bundle", "text/plain": "plain", "image/png": png}
    assert repl_pair.run("rich/A").outputs == (bundle,)


def test_a_child_that_somebody_else_starts_meanwhile_and_a_failed_start_are_left_alone(capfd):
    import subprocess

    with capture(exclusive=False) as captured:
        outside = contextvars.Context().run(subprocess.Popen, ["echo", "outside"])
        assert outside.wait() == 0
        with pytest.raises(FileNotFoundError):
            subprocess.Popen(["/nowhere/at/all"])
        assert os.system("exit 5") == 5 << 8
        assert PLACE.get() == RUN
    assert captured.text("unattributed") == ""
    assert capfd.readouterr().out == "outside\n"


def test_a_filter_that_a_library_sets_at_its_import_outlives_the_run_that_imports_it(
    tmp_path, monkeypatch
):
    (tmp_path / "late_library.py").write_text(
        "import warnings\n"
        "class LateWarning(UserWarning): pass\n"
        "warnings.simplefilter('error', LateWarning)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = list(warnings.filters)
    try:
        with capture(exclusive=True):
            from late_library import LateWarning  # pyright: ignore[reportMissingImports]

            warnings.simplefilter("ignore", ResourceWarning)
        assert ("error", None, LateWarning, None, 0) == warnings.filters[0]
        assert warnings.filters[1:] == before
    finally:
        warnings.filters[:] = before
        sys.modules.pop("late_library", None)


def run_beside_a_thread_that_catches_warnings(begins_first, beside):
    def catch():
        with beside, warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            caught.set()
            assert ended.wait(30)

    caught, ended = threading.Event(), threading.Event()
    other = threading.Thread(target=contextvars.copy_context().run, args=(catch,))
    main = capture(exclusive=True)
    if begins_first:
        other.start()
        assert caught.wait(30)
    with main:
        if begins_first:
            ended.set()
            other.join(30)
        else:
            other.start()
            assert caught.wait(30)
    ended.set()
    other.join(30)


@pytest.mark.parametrize("other_is_run", [True, False])
@pytest.mark.parametrize("begins_first", [[True], [False], [False, True]])
def test_a_run_beside_a_thread_that_catches_warnings_leaves_the_filters_as_they_were(
    begins_first, other_is_run, monkeypatch
):
    # Under pytest each test has a list of its own.
    monkeypatch.setattr(capturing, "_FIRST_FILTERS", warnings.filters)
    before = list(warnings.filters), warnings.showwarning
    for begins in begins_first:
        beside = capture(exclusive=False) if other_is_run else nullcontext()
        run_beside_a_thread_that_catches_warnings(begins, beside)
        assert list(warnings.filters) == before[0]
    uninstall()
    assert (list(warnings.filters), warnings.showwarning) == before


FIRST_RUN = """
import threading, warnings
before, caught, ended = warnings.filters, threading.Event(), threading.Event()
def catch():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        caught.set()
        ended.wait(30)
other = threading.Thread(target=catch)
other.start()
caught.wait(30)
from repl_pair.runtime.capture.capture import capture
with capture(exclusive=True):
    ended.set()
    other.join(30)
print(warnings.filters is before)
"""


def test_a_first_run_beside_a_thread_that_catches_warnings_leaves_the_list_of_the_process():
    ran = subprocess.run([sys.executable, "-c", FIRST_RUN], capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stderr


class OwnStream(io.TextIOWrapper):
    """A stream whose class can be replaced."""


ENDS = {
    "is left as a block": lambda stream: stream.__exit__(None, None, None),
    "is closed": lambda stream: stream.close(),
    "has its buffer closed": lambda stream: stream.buffer.close(),
    "is detached": lambda stream: stream.detach().write(b""),
    "is reconfigured": lambda stream: stream.reconfigure(encoding="ascii"),
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("cls", [io.TextIOWrapper, OwnStream])
def test_a_standard_stream_that_ends_in_a_run_stays_as_it_is_and_is_named(cls, how, monkeypatch):
    stream = cls(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    with capture(exclusive=False) as captured:
        ENDS[how](sys.stdout)
        print("in the run")
    assert list(captured.restored.values()) == ["standard streams"]
    assert captured.text("stdout") == "in the run\n"
    print("after it", "\u2713")
    uninstall()
    assert stream.buffer.getvalue() == b""
    stream.flush()
    assert stream.buffer.getvalue() == "after it \u2713\n".encode()
    assert not {"close", "detach", "reconfigure"} & {*vars(stream), *vars(stream.buffer)}
    stream.close()
    assert stream.closed


def test_a_stream_that_another_thread_puts_back_during_a_run_stays():
    entered, leave = threading.Event(), threading.Event()

    def redirect():
        with redirect_stdout(io.StringIO()):
            entered.set()
            assert leave.wait(30)

    own = sys.stdout
    with capture(exclusive=True, restores=True):
        pass  # as at the attach, the streams that stand are hooked
    other = threading.Thread(target=redirect)
    other.start()
    assert entered.wait(30)
    with capture(exclusive=True, restores=True):
        leave.set()
        other.join(30)
    assert sys.stdout is own


def test_filters_that_a_run_replaces_end_with_it():
    before = warnings.filters, list(warnings.filters)
    with capture(exclusive=True):
        warnings.catch_warnings().__enter__()
        warnings.simplefilter("ignore")
    assert (warnings.filters, list(warnings.filters)) == before


def test_a_timer_that_a_run_began_ends_with_it_and_one_of_the_person_goes_on():
    which, number = signal.ITIMER_VIRTUAL, signal.SIGVTALRM
    before = signal.getsignal(number)
    with capture(exclusive=True, restores=True) as captured:
        signal.signal(number, lambda *_: None)
        signal.setitimer(which, 50)
    assert signal.getitimer(which) == (0, 0)
    assert signal.getsignal(number) is before
    assert list(captured.restored.values()) == ["timers", "signals"]
    signal.setitimer(which, 50, 9)
    try:
        with capture(exclusive=True, restores=True) as captured:
            pass
        assert captured.restored == {}
        with capture(exclusive=True, restores=True):
            signal.setitimer(which, 0)
        left, interval = signal.getitimer(which)
        assert 40 < left < 60
        assert interval == pytest.approx(9)
    finally:
        signal.setitimer(which, 0)


@pytest.mark.parametrize("action", ["always", "error"])
def test_options_of_pandas_are_given_back_without_its_warnings_of_old_ones(action):
    options = pandas.options.display.max_rows, pandas.options.future.distinguish_nan_and_na
    with capture(exclusive=True, restores=True) as captured:
        warnings.simplefilter(action)
        pandas.set_option("display.max_rows", 3, "future.distinguish_nan_and_na", not options[1])
    now = pandas.options.display.max_rows, pandas.options.future.distinguish_nan_and_na
    assert (now, captured.warned) == (options, [])
    assert list(captured.restored.values()) == ["pandas options"]


def test_a_finder_that_another_thread_adds_while_a_run_ends_stays(monkeypatch):
    class Late:
        def find_spec(self, name, path=None, target=None):
            return None

    class Finders(list):
        """A list to which another thread adds a finder as soon as it was copied."""

        def __iter__(self):
            yield from super().__iter__()
            self.append(late) if late not in self[:] else None

    late, run = Late(), Captured()
    monkeypatch.setattr(sys, "meta_path", Finders(sys.meta_path))
    watch_late(frozenset({"a.module.to.come"}), print, run)
    hook = sys.meta_path[0]
    run.at_end.pop()()
    assert late in sys.meta_path
    assert hook not in sys.meta_path


class Slots(dict[str, Any]):
    """Names of a module or kernel; a cell begins or ends as they are read for the nth time."""

    def __init__(self, act=None, at=0, **slots):
        super().__init__(**slots)
        self.act, self.at = act, at

    def __getitem__(self, slot):
        self.at -= 1
        if self.at == 0:
            self.act()
        return super().__getitem__(slot)


@pytest.fixture
def prompts(monkeypatch):
    owner, kernel = Slots(input=input), Slots()
    monkeypatch.setattr(person_calls, "_PROMPTS", ((owner, "input", "_kept"),))
    monkeypatch.setattr(person_calls, "_prompt_hooks", {})
    shell = SimpleNamespace(kernel=SimpleNamespace(_trait_values=kernel))
    places = person_calls.prompt_places(shell)

    def begin():
        dict.update(kernel, _kept=dict.get(owner, "input"))
        dict.update(owner, input=cell_input)

    def end():
        dict.update(owner, input=dict.get(kernel, "_kept"))

    return SimpleNamespace(owner=owner, kernel=kernel, places=places, begin=begin, end=end)


def test_a_kernel_that_has_run_no_cell_keeps_no_input_during_a_run_either(prompts):
    prompts.kernel["_kept"] = None
    person_calls.hook_prompts(prompts.places)
    assert prompts.kernel["_kept"] is None
    person_calls.release_prompts(prompts.places)


def test_the_next_run_takes_the_hook_of_input_that_the_last_one_took(prompts):
    taken = []
    for _ in range(2):
        person_calls.hook_prompts(prompts.places)
        taken.append(prompts.owner["input"])
        person_calls.release_prompts(prompts.places)
        assert prompts.owner["input"] is input
    assert taken[0] is taken[1] is not input


def test_no_hook_is_kept_of_each_input_that_a_cell_ever_had(prompts):
    for number in range(50):
        prompts.owner["input"] = partial(cell_input, number)
        person_calls.hook_prompts(prompts.places)
        person_calls.release_prompts(prompts.places)
    assert len(person_calls._prompt_hooks) < 10


def cell_input(prompt=""):
    return prompt


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("where", ["owner", "kernel"])
@pytest.mark.parametrize("is_in_cell", [True, False])
@pytest.mark.parametrize("is_at_release", [True, False])
def test_a_cell_that_begins_or_ends_just_as_a_run_does_keeps_its_input(
    prompts, at, where, is_in_cell, is_at_release
):
    if is_in_cell:
        prompts.begin()
    names = getattr(prompts, where)
    steps = [person_calls.hook_prompts, person_calls.release_prompts]
    if is_at_release:
        steps.pop(0)(prompts.places)
    names.act, names.at = (prompts.end if is_in_cell else prompts.begin), at
    for step in steps:
        step(prompts.places)
    if names.at > 0:  # it was not read so often
        names.at = 0
        names.act()
    if not is_in_cell:
        assert prompts.owner["input"] is cell_input
        prompts.end()
    assert prompts.owner["input"] is input
