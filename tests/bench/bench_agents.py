"""Eight agents that read from one kernel as fast as they can, and the person who works in it."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from measure import (
    AGENT,
    Row,
    clocked_ms,
    kernel_with_stories,
    make_environment,
    row,
    run,
    scaled,
)

from repl_pair.bridge.discover import find_kernel
from repl_pair.bridge.kernel_link import KernelLink

AGENTS = 8
READS = 200
CELLS = 100
BARE = "kernel_info_request on control by as many"


def figures() -> list[Row]:
    reads, cells = scaled(READS, 2), scaled(CELLS, 2)
    with kernel_with_stories() as kernel:
        path = str(kernel.path)
        ours, base = read_all(path, reads, "reads"), read_all(path, reads, "bare")
        alone = median(clocked_ms(lambda: run(kernel, "1+1")) for _ in range(cells))
