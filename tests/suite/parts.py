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
    "cli/test_run.py::test_a_run_that_nothing_stops",
    "cli/test_watch.py",
    "kernel/test_agents.py",
    "kernel/test_discover_programs.py",
    "kernel/test_embed.py",
    "kernel/test_inject.py",
    "kernel/test_kernel_link.py::test_a_read_under_way",
    "kernel/test_scratch_kernel.py::test_it_ends_where_the_program",
    "kernel/test_sessions.py",
    "kernel/test_stopping.py::test_a_run_that_catches_every_stop",
    "kernel/test_stopping.py::test_a_stuck_worker",
    "kernel/test_stopping.py::test_every_run_on_",
    "mcp/test_big_answers.py",
    "mcp/test_death.py",
    "mcp/test_followed_kernels.py",
    "mcp/test_hostile_",
    "mcp/test_http_agents.py",
    "mcp/test_http_servers.py",
    "mcp/test_http_tiers.py",
    "mcp/test_principals.py",
    "mcp/test_realm_tools.py",
    "mcp/test_review_acceptance.py",
    "mcp/test_secrets.py",
    "mcp/test_sizes.py",
    "mcp/test_stack_tools.py::test_the_status_of_a_kernel",
    "mcp/test_tiers.py",
    "pytest_plugin/test_async_fixtures.py",
    "pytest_plugin/test_choosing.py",
    "pytest_plugin/test_collecting.py::test_a_run_without_stories",
    "pytest_plugin/test_five_ways.py",
    "pytest_plugin/test_nbval.py",
    "pytest_plugin/test_notebook_outputs.py",
    "pytest_plugin/test_notebook_runner.py",
    "pytest_plugin/test_notebooks.py",
    "pytest_plugin/test_same_files.py",
    "unit/panels/test_explorer.py::test_a_hundred_thousand_variants",
    "unit/project/test_crashes.py",
    "unit/reading/test_expansion.py::test_what_has_no_end",
    "unit/realm/test_readiness.py",
    "unit/realm/test_worktrees.py",
)
"""Folders, files and tests that are in the second part alone; or a test bears the mark `full`."""
FIRST_ONLY = (
    "browser/",
    "cli/test_cli_kernel.py",
    "cli/test_init.py::test_a_server_that_does_not_serve",
    "cli/test_project_code.py",
    "cli/test_run.py::test_an_interrupt_ends",
    "cli/test_run.py::test_skip_and_xfail_mean",
    "kernel/public_notebooks/",
    "kernel/test_breakpoints.py",
    "kernel/test_capture.py::test_a_run_that_is_the_first_to_load_pyplot",
    "kernel/test_discover.py::test_a_kernel_with_its_file_elsewhere",
    "kernel/test_flat.py",
    "kernel/test_kernel_link.py::test_a_kernel_of_another_transport",
    "kernel/test_kernel_link.py::test_a_stopped_kernel_is_unresponsive",
    "kernel/test_kernel_link.py::test_attaching_and_reading_leave_a_running_cell",
    "kernel/test_leaving.py",
    "kernel/test_manners.py::test_beside_a_running_cell",
    "kernel/test_manners.py::test_no_deadline_and_no_cancel",
    "kernel/test_person_calls.py",
    "kernel/test_reregistering.py",
    "kernel/test_session.py",
    "kernel/test_settings.py",
    "kernel/test_shell_path.py",
    "kernel/test_silence.py",
    "kernel/test_status_probe.py",
    "kernel/test_stopping.py::test_a_cancelled_call_stops",
    "kernel/test_stopping.py::test_a_run_of_the_persons_own_is_stopped",
    "kernel/test_stopping.py::test_the_persons_stop_ends_an_agents_run",
    "kernel/test_surroundings.py",
    "mcp/test_approvals.py",
    "mcp/test_background.py",
    "mcp/test_embed.py",
    "mcp/test_functions.py",
    "mcp/test_http_bounds.py",
    "mcp/test_looking.py",
    "mcp/test_projections.py",
    "mcp/test_prompts.py",
    "mcp/test_renderings.py::test_no_rendering",
    "mcp/test_reviews.py",
    "mcp/test_scripted_agent.py",
    "mcp/test_shapes.py::test_a_kernel_is_named_by",
    "mcp/test_shapes.py::test_a_toolset_lists",
    "mcp/test_shapes.py::test_an_opened_gate_lists",
    "mcp/test_shapes.py::test_every_opening_gives_the_same_list",
    "mcp/test_slices.py",
    "mcp/test_stdio.py",
    "mcp/test_without_kernel.py",
    "mcp/test_workers.py",
    "pytest_plugin/test_collecting.py::test_a_pattern_that_fits_no_file",
    "pytest_plugin/test_snapshots.py",
    "unit/secrets/test_fit.py::test_no_cut_leaves",
    "unit/stopping/test_stop.py::test_no_stop_outlives",
)
"""Of each file there, the first test is in the first part, and of each test its first case."""


def find_stale(root: Path) -> list[str]:
    """Return the names in both lists of which there is no folder, file or test."""
    return [one for one in (*FULL, *FIRST_ONLY) if not _names_something(root, one)]


def _names_something(root: Path, one: str) -> bool:
    place, mark, test = one.partition("::")
    if not mark:
        return any(root.glob(f"{place}*"))
    return (root / place).is_file() and f"def {test}" in (root / place).read_text(encoding="utf-8")


def is_first_part(config: pytest.Config) -> bool:
    """Return whether this run is of the first part alone, as `make test` runs it."""
    return config.getoption("markexpr") == "not full"


def is_full(path: Path, root: Path) -> bool:
    """Return whether each test of a file is in the second part."""
    return path.relative_to(root).as_posix().startswith(FULL)


def mark_full(items: Iterable[pytest.Item], root: Path) -> None:
    """Mark the tests of the second part with `full`."""
    seen = set()
    for item in items:
        file = item.path.relative_to(root).as_posix()
        test = f"{file}::{item.name.partition('[')[0]}"
        place = file if file.startswith(FIRST_ONLY) else test
        is_later = place.startswith(FIRST_ONLY) and place in seen
        seen.add(place)
        if is_later or test.startswith(FULL):
            item.add_marker("full")
