"""What is sent to a process that runs a variant: names, data, and functions where needed."""

import importlib
import os
import pickle
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

from repl_pair.errors import RequestError, error_text
from repl_pair.records import record
from repl_pair.runtime.authoring.shared import SETTINGS
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.loading.modules import execute
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.project.root import own_root, start_in
from repl_pair.runtime.reading.code_files import is_engine, library_path
from repl_pair.runtime.registry.model import Entry, Origin, components_in
from repl_pair.runtime.registry.origin import BUILTIN, SENT
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.registry.registry import REGISTRY, RegistrationWarning
from repl_pair.runtime.store import STORE
from repl_pair.runtime.sweeps.matrix import Pairing

_WRITTEN_NS: dict[str, int] = {}
"""When the files of modules were last written, as of their first check in this process."""


def refuse_old_modules() -> None:
    """Raise RequestError `cannot_run` if a file is newer than its module in this process."""
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or _is_installed(file):
            continue
        try:
            written = os.stat(file).st_mtime_ns
        except OSError:
            written = 0
        if _WRITTEN_NS.setdefault(file, written) != written:
            raise RequestError(
                "cannot_run",
                f"{name} was changed after this worker process imported it: use fresh workers.",
            )


@cache
def _is_installed(file: str) -> bool:
    return is_engine(file) or library_path(file) is not None


@record
class RunTask:
    """One run as it is sent: which process it comes from, and all that the run rests on.

    `modules` are imported there, from their files where no name leads to them. `entries` are the
    data, and what no module registers, pickled, by kind and id; `settings` the global args and
    decorators. A thread of the same process has all of these.
    """

    pairing: Pairing
    identity: Identity
    boot: str = field(default_factory=lambda: BOOT.id)
    pid: int = field(default_factory=os.getpid)
    folder: str = field(default_factory=lambda: str(own_root()))
    modules: Mapping[str, str] = field(default_factory=dict[str, str])
    entries: Mapping[tuple[str, str], bytes] = field(default_factory=dict[tuple[str, str], bytes])
    settings: bytes = b""
    number: str = ""
    """Makes each one unlike all others: dask returns the result of an equal one without a run."""


class TaskBuilder:
    """Builds the tasks of one sweep; each entry is pickled once."""

    def __init__(self) -> None:
        self._pickles: dict[tuple[str, str, int], bytes | RequestError] = {}

    def build(self, pairing: Pairing, plan: Plan) -> RunTask:
        """Build the task of one run; RequestError `cannot_run` for what another process lacks."""
        if file := plan.edited_file:
            raise RequestError(
                "cannot_run",
                f"{file} was edited since it was loaded, so another process would run other code: "
                "reload it.",
            )
        # Which effects a run emits is unknown before; those that cannot be sent are left out.
        effects = REGISTRY.snapshot("effect").values()
        reached = [*plan.reached.values(), *(e for e in effects if isinstance(self._try(e), bytes))]
        entries = [e for e in reached if e is not None and e.origin.key != BUILTIN]
        pickled = {(entry.kind, entry.id): self._pickle(entry) for entry in entries}
        settings = {name: STORE.get(name) for name in SETTINGS}
        names = [name for entry in entries for name in self._modules_of(entry)]
        return RunTask(
            pairing=pairing,
            identity=plan.identity,
            modules={n: str(getattr(sys.modules[n], "__file__", None) or "") for n in names},
            entries={key: data for key, data in pickled.items() if data},
            settings=_dump(settings, "What is set for all stories"),
        )

    def _modules_of(self, entry: Entry) -> list[str]:
        if not self._pickle(entry):
            return [_module_of(entry)]
        modules = [part.module for part in components_in(entry.body)]
        return [module for module in modules if is_importable(module)]

    def _pickle(self, entry: Entry) -> bytes:
        """Return an entry pickled; empty where the import of its module registers it."""
        pickled = self._try(entry)
        if isinstance(pickled, RequestError):
            raise pickled
        return pickled

    def _try(self, entry: Entry) -> bytes | RequestError:
        key = (entry.kind, entry.id, entry.revision)
        if key not in self._pickles:
            self._pickles[key] = _pickle_entry(entry)
        return self._pickles[key]


def unpack(task: RunTask) -> None:
    """Register here what a run rests on; RequestError `cannot_run` where that fails."""
    start_in(task.folder)
    with warnings.catch_warnings():
        # What a module registers on its import, and what was sent, have the same ids.
        warnings.simplefilter("ignore", RegistrationWarning)
        for name, file in task.modules.items():
            with _refused_as(f"The worker process cannot import {name}"):
                try:
                    importlib.import_module(name)
                except ModuleNotFoundError as error:
                    if not f"{name}.".startswith(f"{error.name}.") or not Path(file).is_file():
                        raise
                    execute(name, Path(file), None)
        for key, pickled in task.entries.items():
            before, entry = _REGISTERED.get(key, (b"", None))
            if before != pickled or REGISTRY.find(*key) is not entry:
                sent: Entry = _unpickle(pickled, f"{key[0]} {key[1]}")
                REGISTRY.unregister(*key)
                entry = REGISTRY.register(*key, sent.body, origin=sent.origin, tier=sent.tier)
                _REGISTERED[key] = pickled, entry
        for name, value in _unpickle(task.settings, "what is set for all stories").items():
            STORE.set(name, value)
    refuse_old_modules()


def is_importable(module: str) -> bool:
    """Return whether another process finds a module of this one by its name or file."""
    if module in ("__main__", "__mp_main__"):
        return False
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return spec is not None and spec.origin is not None


_REGISTERED: dict[tuple[str, str], tuple[bytes, Entry | None]] = {}
"""What was sent to this process before, pickled, and the entries made of it."""


def _module_of(entry: Entry) -> str:
    """Name the module that registers an entry wherever it is imported, if one does."""
    place, _, module = entry.origin.key.partition(":")
    return module if place == "module" and is_importable(module) else ""


def _unpickle(pickled: bytes, what: str) -> Any:
    with _refused_as(f"The worker process cannot unpack {what}"):
        return pickle.loads(pickled)


@contextmanager
def _refused_as(fault: str) -> Generator[None]:
    try:
        yield
    except Exception as error:
        raise RequestError("cannot_run", f"{fault}: {error_text(error)}") from error


def _pickle_entry(entry: Entry) -> bytes | RequestError:
    origin = Origin(key=f"{SENT}{entry.origin.key}", label=entry.origin.label, line=0)
    sent = replace(entry, origin=origin)
    try:
        if _module_of(entry):
            try:
                return dump_by_name(sent)
            except Exception:  # noqa: BLE001  whatever it is, the import of the module registers it
                return b""
        return _dump(sent, f"{entry.kind} {entry.id!r} of {entry.origin.label}")
    except RequestError as error:
        return error


class _ByName(pickle.Pickler):
    """Refuses functions and classes that another process does not find by their name."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType | type) and not is_importable(obj.__module__):
            raise pickle.PicklingError(f"{obj.__qualname__} is not defined in a module")
        return NotImplemented


def dump_by_name(value: Any) -> bytes:
    """Pickle a value; raises whatever it may where another process could not unpickle it."""
    buffer = BytesIO()
    _ByName(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _dump(value: Any, what: str) -> bytes:
    try:
        return dump_by_name(value)
    except Exception as error:  # noqa: BLE001  cloudpickle may do what pickle cannot
        try:
            by_value = importlib.import_module("cloudpickle")
        except ImportError:
            raise RequestError(
                "cannot_run",
                f"{what} cannot be sent to another process: {error}. Move it to a module and "
                "import that, or install cloudpickle, or run without an executor.",
            ) from error
    with _refused_as(f"{what} cannot be sent to another process"):
        return by_value.dumps(value)
