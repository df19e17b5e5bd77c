"""What can be set: the options of the command line, and those of the ini file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

SNAPSHOTS = f"__{__name__.partition('.')[0]}__"
"""The folders of stored snapshots have the name of the package."""
KEPT = "repl_pair_kept"
"""Under which a worker of xdist sends what it kept."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--pair-tags": {
        "metavar": "EXPR",
        "help": "Run only variants whose tags fit: 'test and not slow'. Test functions stay.",
    },
    "--pair-modes": {
        "metavar": "MODES",
        "help": "In which of its modes each variant is run: all (the default: all combinations), "
        "each (one at a time), none, or combinations as in node ids: 'eur,usd+dark'.",
    },
    "--pair-plays": {
        "choices": ("all", "each", "auto"),
        "default": "all",
        "help": "all (the default): the plays that run by themselves in one item, and an item for "
        "each other named play; each: an item for each named play; auto: only the former.",
    },
    "--pair-update": {
        "action": "store_true",
        "help": "Store snapshots as they come, and remove those that are unused. With "
        "--pair-notebook, store notebooks as they are executed too.",
    },
    "--pair-notebook": {
        "action": "store_true",
        "help": "Run notebooks with the runner of repl_pair: in place of --nbval.",
    },
    "--pair-artifacts": {
        "metavar": "DIR",
        "help": "Keep outputs that differ there: what was expected, what came and the difference, "
        "for `repl-pair accept DIR`. With --pair-notebook executed notebooks too.",
    },
    "--pair-cleared": {
        "action": "store_true",
        "help": "Let cells without stored outputs be: their variants alone are held to what they "
        "assert.",
    },
    "--pair-cell-timeout": {
        "metavar": "SECONDS",
        "type": int,
        "default": 60,
        "help": "With --pair-notebook, how long one cell may take (60).",
    },
    "--pair-kernel": {
        "metavar": "NAME",
        "help": "With --pair-notebook, an installed kernel in place of this Python's own.",
    },
}
"""Flags with what argparse takes for them."""
INI: Mapping[str, Mapping[str, Any]] = {
    "repl_pair_stories": {
        "type": "args",
        "default": [],
        "help": "Modules and patterns of files that hold stories; [tool.repl_pair] stories of "
        "pyproject.toml, else stories_*.py.",
    },
    "repl_pair_modes": {
        "default": "all",
        "help": "What --pair-modes is where it is not given.",
    },
    "repl_pair_image_tolerance": {
        "default": "0",
        "help": "The share of the pixels of a stored image that may look different, 0 to 1.",
    },
}
"""Options of the ini file."""


def start_of(config: pytest.Config) -> Path:
    """Return from where on, upward, the settings of stories are searched.

    That is what all arguments have in common, as pytest searches its own; else the folder in which
    it was started. Outside of its rootdir it is the rootdir.
    """
    here, root = config.invocation_params.dir, config.rootpath
    if config.args and config.args_source is pytest.Config.ArgsSource.ARGS:  # `--help` has none
        paths = [Path(os.path.abspath(here / arg.partition("::")[0])) for arg in config.args]
        above = (paths[0], *paths[0].parents)
        here = next((one for one in above if all(path.is_relative_to(one) for path in paths)), root)
    return here if here.is_relative_to(root) else root
