"""The two parts of the suite: what `make test` runs, and what `make test-all` adds."""

from collections.abc import Iterable
from pathlib import Path

import pytest

FULL = (
    "attack/",
    "bench/",
    "clients/",
    "docs/",
    "examples/",
    "browser/test_explorer_at_size.py",
    "browser/test_front_ends.py",
    "cli/test_demo.py",
    "kernel/test_agents.py",
    "kernel/test_discover_programs.py",
    "kernel/test_embed.py",
    "kernel/test_inject.py",
    "kernel/test_sessions.py",
    "mcp/test_big_answers.py",
    "mcp/test_followed_kernels.py",
    "mcp/test_hostile_",
    "mcp/test_http_agents.py",
    "mcp/test_http_servers.py",
    "mcp/test_realm_tools.py",
    "mcp/test_review_acceptance.py",
    "pytest_plugin/test_choosing.py",
    "pytest_plugin/test_five_ways.py",
    "pytest_plugin/test_nbval.py",
    "pytest_plugin/test_notebook_outputs.py",
    "pytest_plugin/test_notebook_runner.py",
    "pytest_plugin/test_notebooks.py",
    "pytest_plugin/test_same_files.py",
    "unit/realm/test_readiness.py",
    "unit/realm/test_worktrees.py",
)
"""Folders and files of which each test is in the second part; single tests bear the mark `full`."""
FIRST_ONLY = (
    "browser/",
    "kernel/public_notebooks/",
    "kernel/test_settings.py",
    "kernel/test_shell_path.py",
    "mcp/test_background.py",
    "mcp/test_http_bounds.py",
    "mcp/test_http_tiers.py",
    "mcp/test_prompts.py",
    "mcp/test_workers.py",
)
"""Of each file there, the first test is in the first part: one path through it."""


def mark_full(items: Iterable[pytest.Item], root: Path) -> None:
    """Mark the tests of the second part with `full`."""
    seen = set()
    for item in items:
        place = item.path.relative_to(root).as_posix()
        is_later = place.startswith(FIRST_ONLY) and place in seen
        seen.add(place)
        if is_later or place.startswith(FULL):
            item.add_marker("full")
