"""Deselects variants by the options; a choice that fits nothing is refused."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.pytest_plugin.choices import Choice, modes_wanted
from repl_pair.pytest_plugin.workers import UNMATCHED, is_worker, kept_in
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.sweeps.tag_expression import read_tags


def note_collected(file: pytest.Module, choices: Sequence[Choice], names: Iterable[str]) -> None:
    """Note the variants of a file, and the names on the command line that it lacks."""
    config = file.config
    config.stash.setdefault(_MODES, set()).update(frozenset(one.modes) for one in choices)
    there = {part for name in names for part in (name, name.partition("[")[0])}
    for arg in config.args:
        path, _, name = arg.partition("::")
        outer, colons, _ = name.partition("[")[0].partition("::")
        word = outer if colons else name  # a parameter may hold colons
        is_here = Path(config.invocation_params.dir, path).resolve() == file.path.resolve()
        if name and is_here and word not in there:
            note = f"{file.path.name} has no {word!r}.{did_you_mean(word, there)}"
            kept_in(config, UNMATCHED).append(note)


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what --pair-tags does not fit; refuse a choice that fits nothing: UsageError.

    A worker of xdist runs nothing then, and its session ends with that refusal.
    """
    try:
        _check_modes(config)
        _deselect_by_tags(config, items)
    except RequestError as error:
        if not is_worker(config):
            raise pytest.UsageError(error.message) from error
        kept_in(config, UNMATCHED).append(error.message)
        items.clear()


def _deselect_by_tags(config: pytest.Config, items: list[pytest.Item]) -> None:
    line: str | None = config.getoption("pair_tags")
    if line is None:
        return
    variants: list[Any] = [item for item in items if hasattr(item, "variant_tags")]
    # Those of notebooks are registered in their kernels, not here.
    met = {tag for item in variants for tag in item.variant_tags}
    _, fits = read_tags(line, sorted({*REGISTRY.ids("tag"), *met}))
    out = [item for item in variants if not fits(item.variant_tags)]
    if len(out) == len(variants):
        there = f"none of the {len(out)} that were collected" if out else "and none was collected"
        raise RequestError("not_found", f"--pair-tags {line!r} chooses variants, {there}.")
    config.hook.pytest_deselected(items=out)
    gone = set(out)
    items[:] = [item for item in items if item not in gone]


def _check_modes(config: pytest.Config) -> None:
    wanted = modes_wanted(config)
    met = config.stash.get(_MODES, None)
    given: str | None = config.getoption("pair_modes")
    if isinstance(wanted, str) or (met is None and given is None):
        return
    missing = [one for one in wanted if one not in (met or ())]
    # What stands in the ini file is for every selection; one file need not have all of it.
    if missing and (given is not None or len(missing) == len(wanted)):
        known, modes = REGISTRY.ids("mode"), sorted(missing[0])
        fault = f"no variant that was collected has the modes {'+'.join(modes) or 'none'}."
        if unknown := [mode for mode in modes if mode not in known]:
            fault = f"there is no mode {unknown[0]!r}.{did_you_mean(unknown[0], known)}"
        raise RequestError("not_found", f"--pair-modes: {fault}")


_MODES = pytest.StashKey[set[frozenset[str]]]()
"""The combinations of modes that some variant has."""
