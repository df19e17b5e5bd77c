"""What `%pair` answers to words that it does not know or take."""

import subprocess
import sys

import pytest

from repl_pair.runtime.kernel.magics import pair


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("atach", "%pair atach: unknown. Nearest: attach"),
        ("pause now", "%pair pause does not take 'now'. `%pair status | attach"),
        ("load 'shop", "%pair load 'shop: unknown."),
    ],
)
def test_a_line_that_cannot_be_meant_is_answered_by_what_can_be(line, answer, capsys):
    pair(line)
    assert capsys.readouterr().out.startswith(answer)


IN_PROCESS = """
from ipykernel.inprocess.manager import InProcessKernelManager
manager = InProcessKernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.execute("%load_ext repl_pair\\n%pair attach")
print(client.get_shell_msg()["content"]["status"])
for message in client.iopub_channel.get_msgs():
    print(message["content"].get("text", ""))
shell = manager.kernel.shell
shell.run_cell("import repl_pair; repl_pair.story('a', component=print, variants={'V': {}})")
print(repr(shell.run_cell("repl_pair.watch('a/V')").error_in_exec))
shell.run_cell("%unload_ext repl_pair")
print("hooks:", *(fn.__module__ for fn in shell.events.callbacks["post_run_cell"]))
"""


def test_a_kernel_that_no_other_process_reaches_prints_no_line_for_agents():
    ran = subprocess.run(
        [sys.executable, "-c", IN_PROCESS], capture_output=True, text=True, timeout=60, check=True
    )
    assert "no agent can reach it" in ran.stdout
    assert "--kernel" not in ran.stdout
    assert "This kernel runs nothing between cells" in ran.stdout
    assert "repl_pair" not in ran.stdout.split("hooks:")[1]
