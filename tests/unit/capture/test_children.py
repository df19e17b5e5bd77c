"""Children that a run forks."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
import repl_pair as rp

def fork(ending):
    pid = os.fork()
    if pid == 0:
        {ending}
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

rp.story("a.fork", component=fork)
rp.variant("a.fork/Once", args={{"ending": "x"}})
record = rp.run("a.fork/Once")
print(record.status, record.result, record.unattributed)
"""


@pytest.mark.parametrize(
    ("ending", "status", "output"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('no room')", 1, "no room"),
        ("return 1", 0, ""),
        ("token = 'q7Wz91Lm' * 2; raise ValueError(token)", 1, "ValueError\n"),
    ],
)
def test_a_child_that_a_run_forks_ends_with_it_as_a_script_does(ending, status, output):
    program = PROGRAM.format(ending=ending)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.startswith(f"pass {status} ")
    assert ran.stdout.count("pass") == 1
    assert output in ran.stdout
    assert "q7Wz91Lm" not in ran.stdout
