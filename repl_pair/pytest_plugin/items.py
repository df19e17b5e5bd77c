"""One variant in its modes as an item, with fixtures, marks and properties."""

import inspect
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from repl_pair.errors import RequestError
from repl_pair.pytest_plugin.async_fixtures import loop_of
from repl_pair.pytest_plugin.choices import Choice
from repl_pair.pytest_plugin.failing import (
    NotPassed,
    RefusedWarning,
    RunningItem,
    show_failure,
)
from repl_pair.pytest_plugin.marks import properties_of
from repl_pair.pytest_plugin.replaced import refuse_replaced
from repl_pair.pytest_plugin.snapshots import note_run, rules_in
from repl_pair.runtime.assertions.events import is_warning
from repl_pair.runtime.authoring.fixtures import fixtures_from
from repl_pair.runtime.capture.capture import RunListener, listen_to_runs
from repl_pair.runtime.loading.load import is_outcome
from repl_pair.runtime.registry.outcomes import HASHES
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.learning import scrub_known
from repl_pair.runtime.stopping.contexts import share_context
from repl_pair.runtime.stopping.loops import drive, on_loop, on_private_loop
from repl_pair.runtime.stopping.stop import defer_stops
from repl_pair.runtime.sweeps.matrix import Pairing
from repl_pair.runtime.sweeps.sweep import run_one
from repl_pair.runtime.values.classes import is_exactly
from repl_pair.runtime.values.frozen import to_plain


def items_of(parent: pytest.Module, choices: Iterable[Choice]) -> "Iterator[VariantItem]":
    """Return the items, one for each combination of parameters that fixtures, marks and hooks give.

    Variants with equal fixtures and marks share what pytest learns of them.
    """
    kinds: dict[tuple[Any, ...], tuple[Any, Sequence[Any]]] = {}
    for choice in choices:
        marks = to_plain(choice.marks)
        kind = (str(marks) if _is_plain(marks) else id(choice), choice.fixtures)
        if kind not in kinds:
            fn = _function(choice)
            kinds[kind] = fn, _functions_of(parent, choice, fn)
        fn, made = kinds[kind]
        yield from (_item(parent, choice, fn, one, several=len(made) > 1) for one in made)


def _is_plain(value: Any) -> bool:
    """Return whether a text shows all of a value."""
    if is_exactly(value, list, tuple):
        return all(map(_is_plain, value))
    if is_exactly(value, dict):
        return all(map(_is_plain, (*value.keys(), *value.values())))
    return type(value) in (str, int, float, bool, type(None))


def _functions_of(parent: Any, choice: Choice, fn: Any) -> Sequence[Any]:
    """Return what pytest makes of a test function."""
    setattr(parent.obj, _NAME, fn)  # pytest finds it in the module
    try:
        return list(parent._genfunctions(_NAME, fn))
    except pytest.fail.Exception as error:
        raise parent.CollectError(str(error.msg).replace(_NAME, choice.name)) from error
    finally:
        delattr(parent.obj, _NAME)


def _item(
    parent: pytest.Module, choice: Choice, fn: Any, function: Any, *, several: bool
) -> "VariantItem":
    kind: Any = VariantItem
    how = {"callobj": fn, "fixtureinfo": function._fixtureinfo, "several": several}
    if hasattr(function, "callspec"):
        how |= {"callspec": function.callspec, "originalname": choice.name}
    name = function.name.replace(_NAME, choice.name, 1)
    return kind.from_parent(parent, choice=choice, name=name, **how)


_NAME = "__repl_pair_variant__"
_OUTCOMES = ("Skipped", "XFailed", "Exit")
_BLIND = frozenset({"capsys", "capsysbinary", "capteesys", "capfd", "capfdbinary", "recwarn"})


class VariantItem(RunningItem):
    """A run of one variant, with one of `several` combinations of parameters or the only one."""

    def __init__(self, *, choice: Choice, several: bool = False, **how: Any) -> None:
        super().__init__(**how)  # pyright: ignore[reportUnknownMemberType]  pytest does not give all types
        self.choice, self.several = choice, several
        self.variant_tags = choice.tags
        # pytest reads the ids that it kept: all brackets are apart from the name there.
        item: Any = self
        if id := getattr(item, "id", None):  # pytest 8 compares texts
            item._id = id.parse(item.nodeid)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where the variant was registered."""
        file, line = self.source
        # pytest cuts a domain that a node id ends with, and writes its dots as colons.
        return file, line - 1, f"variant {self.name}"

    def setup(self) -> None:
        """Set up the fixtures; a missing one is reported by the run."""
        if not self._missing():
            super().setup()

    def _missing(self) -> Sequence[str]:
        there = self._fixtureinfo.name2fixturedefs
        return [name for name in self.choice.fixtures if name not in there and name != "request"]

    def _refuse_fixtures(self) -> None:
        """Refuse a fixture that there is not, and one that would see nothing of the run."""
        if missing := self._missing():
            raise RequestError(
                "cannot_run",
                f"there is no fixture {missing[0]!r} for this file; `pytest --fixtures "
                f"{self.path.name}` lists those that there are.",
            )
        there = self._fixtureinfo.name2fixturedefs
        named = [name for name in self.choice.fixtures if name in _BLIND]
        # A fixture of the project's may have such a name.
        blind = [n for n in named if there[n][-1].func.__module__.startswith("_pytest.")]
        if blind:
            raise RequestError(
                "cannot_run",
                f"the fixture {blind[0]!r} sees nothing of a run, whose output and warnings are "
                "captured for its record: assert what the component returns, or `check.warns`.",
            )

    def runtest(self) -> None:
        """Run the variant; NotPassed unless its status is pass.

        RequestError `cannot_run` for a fixture that it cannot have.
        """
        choice = self.choice
        self._refuse_fixtures()
        plays = None if choice.play is None else [choice.play]
        pairing = Pairing(choice.entry.id, choice.modes, choice.refusal)
        loop, rules = loop_of(self._fixtureinfo.name2fixturedefs), self._rules()
        wait_for = on_private_loop if loop is None else on_loop(loop)
        given, check = fixtures_from(self._fixture), partial(refuse_replaced, self.config)
        with listen_to_runs() as listener, given, share_context(), rules, defer_stops():
            record = drive(run_one(pairing, wait_for=wait_for, plays=plays, check=check))
        note_run(self.config, choice, record)
        self._report(record)
        # What is raised behind the first, as in a teardown, hides no failure.
        raised = listener.raised_by(record.variant_id, record.active_modes)
        for error in raised[:1] if record.status == "error" else ():
            if any(is_outcome(error, one) for one in _OUTCOMES) or self._is_awaited(error):
                raise error
        refused = _warn_again(listener, record)
        if record.status != "pass":
            raise NotPassed(record, raised)
        if refused:
            raise RefusedWarning(refused)

    def _rules(self) -> AbstractContextManager[None]:
        callspec: Any = getattr(self, "callspec", None) if self.several else None
        there, marks = self._fixtureinfo.name2fixturedefs, list[str]()
        for name in () if callspec is None else callspec.params:
            if name in there and name[:2] != "__":  # as that of a plugin that repeats items
                is_direct = there[name][-1].func.__module__.startswith("_pytest.")
                how = "" if is_direct else ", indirect=True"
                marks.append(f"pytest.mark.parametrize({name!r}, [one of them]{how})")
        return rules_in(self.config, marks)

    def _is_awaited(self, error: BaseException) -> bool:
        """Return whether an `xfail` names the class of an error, which pytest compares itself."""
        named = [mark.kwargs.get("raises") or () for mark in self.iter_markers("xfail")]
        return any(
            isinstance(error, one) if isinstance(one, (type, tuple)) else one.matches(error)
            for one in named
        )

    def _fixture(self, name: str) -> Any:
        given = self.funcargs
        return given[name] if name in given else self._request.getfixturevalue(name)

    def _report(self, record: RunRecord) -> None:
        hashes = HASHES if record.identity else ()
        more = {name: str(getattr(record.identity, name)) for name in hashes}
        if record.status == "pass" and self.config.getoption("pair_plays") == "auto":
            more |= {"not_run": record.reason} if record.reason else {}
        more["phases"] = ", ".join(f"{one.phase} {one.elapsed_ms} ms" for one in record.phases)
        given = properties_of(
            record.variant_id, record.active_modes, record.status, record.total, **more
        )
        names = {name for name, _ in given}  # a plugin may run it again
        kept = [one for one in self.user_properties if one[0] not in names]
        self.user_properties[:] = [*kept, *given]
        if out := record.stdout + record.unattributed:
            sys.stdout.write(scrub_known(out))
        if record.stderr:
            sys.stderr.write(scrub_known(record.stderr))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Return the report of a run that did not pass."""
        return show_failure(self, excinfo) or super().repr_failure(excinfo)


def _warn_again(listener: RunListener, record: RunRecord) -> str:
    """Pass the warnings that are not asserted through pytest's filters; name the first refused."""
    passed = [one.payload for one in record.assertions if one.assertion == "warns" and one.passed]
    asserted = [(own[0], own[1].get("match") if own[1:] else None) for own in passed]
    refused = ""
    for message, kind, file, line, *_ in listener.warned:
        text = str(message)
        if any(is_warning(kind, text, category=name, match=match) for name, match in asserted):
            continue
        try:
            warnings.warn_explicit(message, kind, file, line)
        except Warning:
            refused = refused or f"{file}:{line}: {kind.__name__}: {text}"
    return refused


def _function(choice: Choice) -> Any:
    def variant(**fixtures: Any) -> None: ...

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in choice.fixtures]
    found: Any = variant
    found.__name__ = _NAME
    found.__signature__ = inspect.Signature(parameters)
    found.pytestmark = [
        getattr(pytest.mark, name)(*to_plain(args), **to_plain(kwargs))
        for name, args, kwargs in reversed(choice.marks)  # pytest takes the first of a name
    ]
    return found
