"""Plays the demo: step by step, until one is not what it should be."""

import signal
import sys
import time
import traceback

import anyio
import click

from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel
from repl_pair.demo.stage import (
    Unexpected,
    expect,
    find_example,
    make_environment,
    open_stage,
    read_cells,
    read_secret,
)
from repl_pair.demo.steps import STEPS, print_text
from repl_pair.errors import ReplPairError

TOTAL = len(STEPS) + 1
OPENING = "A person's kernel runs the cells of examples/pricing"


def show() -> int:
    """Play all steps on a kernel of its own; 1 as soon as one is not what it should be.

    SIGTERM ends it as Ctrl-C does: nothing is left of it.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _show()
    finally:
        signal.signal(signal.SIGTERM, before)


def _show() -> int:
    started = time.perf_counter()
    _print_title(0, OPENING)
    try:
        example = find_example()
        with scratch_kernel(cwd=example, environment=make_environment()) as kernel:
            print_text(f"kernel of {sys.executable}, pid {kernel.pid}")
            for number, (title, code) in enumerate(read_cells(example / "stories_pricing.py")):
                ran = kernel.run(code, cell=f"demo-{number}")
                print_text(f"In[{ran.count}]  {title}")
                expect(ran.error is None, f"the cell {title!r} runs: {ran.error}")
            failed = anyio.run(_play, kernel, read_secret(example / "stories_pricing.py"))
    except (Unexpected, ReplPairError) as error:
        return _report_failure(0, OPENING, str(error))
    if not failed:
        seconds = time.perf_counter() - started
        click.secho(f"\nAll {TOTAL} steps are as they should be, {seconds:.1f} s", fg="green")
    return failed


async def _play(kernel: ScratchKernel, secret: str) -> int:
    async with open_stage(kernel, secret) as stage:
        for number, (title, play) in enumerate(STEPS.items(), start=1):
            _print_title(number, title)
            try:
                await play(stage)
            except Unexpected as error:
                return _report_failure(number, title, f"expected that {error}")
            except Exception:  # noqa: BLE001  whatever goes wrong, the demo names the step
                return _report_failure(number, title, traceback.format_exc())
    return 0


def _print_title(number: int, title: str) -> None:
    click.secho(f"\n{number:2}  {title}", bold=True)


def _report_failure(number: int, title: str, why: str) -> int:
    click.secho(f"\nStep {number} ({title}) is not what it should be: {why}", fg="red", err=True)
    return 1
