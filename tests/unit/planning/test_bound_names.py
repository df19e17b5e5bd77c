"""Cells that run again as they were: what they compute may be another, and results are stale."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = """
import json
from IPython.core.interactiveshell import InteractiveShell
import repl_pair
from repl_pair.runtime.results.drift import counts_as_verdict, is_current

shell = InteractiveShell.instance()

def run_cells(*cells):
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()

CELLS = {
    "default": "def default(n=1, rate=RATE): return n * rate",
    "Class": "class Class:\\n    rate = RATE\\n    def __init__(self, n=1): self.n = self.rate",
    "decorated": "@wrap\\ndef decorated(n=1): return n",
    "table": "TABLE = [RATE]\\ndef table(n=1): return TABLE[0]",
    "kept": "@keep\\ndef kept(n=1): return n * RATE",
    "plain": "import math\\nSTEP = 1\\ndef plain(n=1): return n * RATE * STEP * math.pi",
}
WRAP = "import functools\\ndef wrap(f): return functools.wraps(f)(lambda n=1: f(n) * FACTOR)"
run_cells("RATE = 1", "def keep(f): return f", WRAP.replace("FACTOR", "1"), *CELLS.values())
for name in CELLS:
    repl_pair.story(name, component=shell.user_ns[name])
    repl_pair.variant(f"{name}/One")

def run_all():
    runs = {name: repl_pair.run(f"{name}/One") for name in CELLS}
    return lambda: [[n for n, r in runs.items() if f(r)] for f in (is_current, counts_as_verdict)]

shell.run_cell("b = 'math \\ud800' or " + 7000 * "-" + "1", store_history=True)
first = run_all()
steps = [first()]
run_cells("RATE = 2", WRAP.replace("FACTOR", "2"))
steps += [first()]
second = run_all()
steps += [second()]
run_cells(*CELLS.values(), "before = plain", "plain = before")
steps += [second(), run_all()()]
print(json.dumps(steps))
"""


def test_results_are_stale_where_a_cell_computes_again_what_the_code_was_made_with(tmp_path):
    environment = os.environ | {"IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    printed = subprocess.check_output(
        [sys.executable, "-c", SCRIPT], env=environment, text=True, timeout=60
    )
    every = ["default", "Class", "decorated", "table", "kept", "plain"]
    current = json.loads(printed.splitlines()[-1])
    assert current == [[each, each] for each in (every, [], every, every[4:], every)]
