"""What holds for every test: its order, the part of the suite it is in, and what it leaves."""

import gc
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from bounds import BOUND_S
from hanging import Hanging
from hypothesis import HealthCheck, settings
from leftovers import find_leftovers, take_picture
from parts import find_stale, is_first_part, is_full, mark_full
from ports import use_own_ports
from scheduling import Scheduling

from repl_pair.runtime.clients import clients
from repl_pair.runtime.clients.activity import ACTIVITY
from repl_pair.runtime.clients.approvals import APPROVALS, GRANTS
from repl_pair.runtime.notices import deferred_writes, in_replies
from repl_pair.runtime.project import database
from repl_pair.runtime.snapshots.review import ACCEPTED, WAITING
from repl_pair.runtime.stopping.stop import PendingStop
from repl_pair.runtime.store import PERSON_STORE

ROOT = Path(__file__).parent

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
settings.register_profile("first part", max_examples=25)


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the files in random order")


def pytest_configure(config):
    # They are for this run; nested runs of pytest would use them too.
    os.environ.pop("PYTEST_ADDOPTS", None)
    if stale := find_stale(ROOT):
        raise pytest.UsageError(f"tests/suite/parts.py names what is not there: {stale}")
    if is_first_part(config):
        settings.load_profile("first part")
    use_own_ports()
    # A shell that starts the suite in the background has it, and all that it starts, ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "full: a test of the part that `make test-all` runs")
    config.addinivalue_line("markers", "unbound(*names): these bounds of repl_pair are BOUND_S")
    config.pluginmanager.register(LASTING)
    config.pluginmanager.register(Hanging())


def pytest_sessionstart():
    report = sys.unraisablehook

    def report_others(unraisable):
        # A stop that falls into a callback of the garbage collector is lost, and is sent again.
        if not isinstance(unraisable.exc_value, PendingStop):
            report(unraisable)

    sys.unraisablehook = report_others


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # What is collected stays to the end: to look through it for garbage takes a fifth of the time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_ignore_collect(collection_path, config):
    return True if is_first_part(config) and is_full(collection_path, ROOT) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    mark_full(items, ROOT)
    seed = config.getoption("--shuffle")
    if seed is not None:
        files = sorted({str(item.path) for item in items})
        random.Random(seed).shuffle(files)
        items.sort(key=lambda item: files.index(str(item.path)))


class Lasting:
    """What fixtures of a file or of the session have made since the test began.

    A plugin of its own: for fixtures of the session pytest asks no hooks of a conftest.
    """

    def __init__(self):
        self.made = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        before = take_picture()
        try:
            return (yield)
        finally:
            for sort, now in take_picture().items():
                self.made[sort] = self.made.get(sort, frozenset()) | (now - before[sort])


LASTING = Lasting()


@pytest.fixture(scope="session")
def project_folder(tmp_path_factory):
    """The folder of a project in which this process's tests keep nothing for each other."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture(autouse=True)
def without_bounds(request, monkeypatch):
    """Let no bound that a test marks as `unbound` and is not about decide it."""
    for name in {name for mark in request.node.iter_markers("unbound") for name in mark.args}:
        monkeypatch.setattr(f"repl_pair.{name}", BOUND_S)


@pytest.fixture(autouse=True)
def own_project(project_folder, monkeypatch):
    """Let what this process keeps of its project be a test's own."""
    own = database.Database(project_folder)
    monkeypatch.setattr(database, "_open", [own])
    yield own
    deferred_writes.LATER._waiting.clear()
    in_replies.REPLY_NOTICES.forget()
    writing = deferred_writes.LATER._writing  # a write may be under way
    assert writing.acquire(timeout=BOUND_S), "a write of the project does not end"
    try:
        own.close()
        if own.file.exists():
            shutil.rmtree(own.file.parent)
    finally:
        writing.release()


def forget_agents():
    clients.resume()
    for collection in (APPROVALS, GRANTS, ACTIVITY, WAITING, ACCEPTED):
        if PERSON_STORE.keys(collection.name):
            PERSON_STORE.reset(collection.name, {})


@pytest.fixture(autouse=True)
def no_agent_was_here():
    """Let a test begin and end without what agents called and the person decided.

    An approval that was still open is noted when its client leaves, which may be later.
    """
    forget_agents()
    yield
    forget_agents()


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Fail a test after which anything of the package is left in this process."""
    before = take_picture()
    LASTING.made.clear()
    yield
    before = {sort: was | LASTING.made.get(sort, frozenset()) for sort, was in before.items()}
    until = time.monotonic() + BOUND_S  # what ends by itself takes its time
    while (left := find_leftovers(before, take_picture())) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left, "\n".join(left)
