"""The commands as processes of their own, over real kernels and over none."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from bounds import BOUND_S
from mcp import Client, StdioServerParameters
from waiting import wait_until

ROOT = Path(__file__).parents[2]


def test_without_a_kernel_every_command_that_needs_one_exits_3(runtime_dir, shell):
    for words in (
        ("list", "stories"),
        ("run", "a.b/C"),
        ("identity", "a.b/C"),
        ("get", "tag", "x"),
    ):
        refused = shell(*words)
        if words[0] == "get":
            assert refused.returncode == 2, refused.stderr
            continue
        assert refused.returncode == 3, (words, refused.stderr)
        assert refused.stdout == ""
        assert refused.stderr.startswith("no_kernel: ")
        assert "JupyterLab" in refused.stderr


def test_without_a_kernel_the_list_of_kernels_is_empty(runtime_dir, shell, envelopes):
    found = shell("kernels", "--json")
    assert found.returncode == 0
    assert envelopes(found.stdout)[0]["result"] == {"items": [], "total": 0}


def test_a_run_in_a_real_kernel(kernel, shell, envelopes):
    ran = shell("run", "shop.double/Good", "--kernel", str(kernel.pid), "--json")
    (envelope,) = envelopes(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert envelope["result"]["status"] == "pass"
    assert envelope["kernel"]["id"] == kernel.path.stem.removeprefix("kernel-")


def test_a_failure_in_a_real_kernel_exits_1(kernel, shell):
    ran = shell("run", "shop.double/Bad")
    assert ran.returncode == 1
    assert "result: expected 5, got 4" in ran.stdout


def test_the_person_sends_code_of_their_own_where_they_open_the_gate(kernel, shell, envelopes):
    def send(code, *options):
        ran = shell("op", "eval_code", "--json", json.dumps({"code": code}), *options)
        return ran.returncode, envelopes(ran.stdout)[0]

    assert send("1 + 1", "--allow", "eval")[1]["result"]["value"] == 2
    codes = [send(code, "--allow", "eval")[0] for code in ("1 + 1", "1 / 0", "x = = 1")]
    assert codes == [0, 1, 1]
    refused = send("1 + 1")[1]
    assert refused["error"]["code"] == "not_found"


def test_the_kernels_of_the_machine_are_listed(kernel, shell):
    def list_idle():
        listed = shell("kernels")
        assert listed.returncode == 0
        return "idle" in listed.stdout.split() and listed.stdout.splitlines()

    head, line = wait_until(list_idle, what="an idle kernel")
    assert " ".join(head.split()) == "id notebook name pid age state active front end runtime"
    assert line.split()[0] == kernel.path.stem.removeprefix("kernel-")[:8]
    assert str(kernel.pid) in line.split()
    assert len(line) <= len(head) <= 100


@pytest.mark.full
def test_several_kernels_and_no_choice_exit_3(start, shell):
    one, other = start(), start()
    refused = shell("list", "stories")
    assert refused.returncode == 3
    assert refused.stderr.startswith("ambiguous_kernel: ")
    for kernel in (one, other):
        assert kernel.path.stem.removeprefix("kernel-") in refused.stderr
    assert "next: repl-pair op list_kernels\n" in refused.stderr
    assert "next: the same command with --kernel " in refused.stderr
    assert shell("list", "stories", "--kernel", str(one.path)).returncode == 0


def test_a_dead_kernel_exits_3(kernel, shell):
    kernel.kill()
    refused = shell("list", "stories", "--kernel", str(kernel.path))
    assert refused.returncode == 3
    assert refused.stderr.startswith("kernel_gone: ")


def test_a_run_that_waits_for_a_cell_reports_it_on_stderr(kernel, shell):
    begun = kernel.start("time.sleep(60)")
    ran = shell("run", "shop.double/Good", "--wait", "2.4")
    os.kill(kernel.pid, signal.SIGINT)
    assert ran.returncode == 1
    assert "cannot_run" in ran.stdout
    assert "… run_variant shop.double/Good: waiting" in ran.stderr
    assert kernel.finish(begun).error.startswith("KeyboardInterrupt")


def test_doctor_attaches_to_the_kernel_it_finds(kernel, shell, envelopes):
    examined = shell("doctor", "--json")
    (envelope,) = envelopes(examined.stdout)
    items = envelope["result"]["items"]
    (found,) = [item for item in items if item["what"].startswith("kernel ")]
    assert found["well"], found
    assert found["what"].endswith(" answers")
    assert examined.returncode == (0 if all(item["well"] for item in items) else 1)


def test_doctor_states_what_to_do_where_there_is_no_kernel(runtime_dir, shell):
    examined = shell("doctor")
    assert examined.returncode == 1
    assert "ok    Python 3." in examined.stdout
    assert "warn  no live kernel\n      Start one: " in examined.stdout


@pytest.mark.full
def test_doctor_states_which_files_and_servers_are_of_no_use(runtime_dir, shell):
    (runtime_dir / "kernel-junk.json").write_text("{}")
    server = {"pid": os.getpid(), "port": 1, "hostname": "127.0.0.1", "base_url": "/"}
    (runtime_dir / "jpserver-1.json").write_text(json.dumps(server | {"token": "tok-4f1c0ffee9"}))
    examined = shell("doctor")
    assert f"warn  {runtime_dir / 'kernel-junk.json'} was skipped: " in examined.stdout
    seen = f"warn  Jupyter Server on port 1 (pid {os.getpid()}): it could not be asked ("
    assert seen in examined.stdout
    assert "tok-" not in examined.stdout + examined.stderr


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("--toolsets", "storys"), "Nearest: story"),
        (("--as", "person"), "'person' is you"),
        (("--as", "Ann B"), "'Ann B' is not a name for an agent"),
    ],
)
def test_mcp_refuses_its_options_before_it_serves(runtime_dir, shell, words, about):
    refused = shell("mcp", *words)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert about in refused.stderr


@pytest.mark.parametrize(("options", "listed"), [((), False), (("--allow", "inspect"), True)])
def test_mcp_serves_under_the_policy_of_its_options(kernel, options, listed):
    runtime = os.environ["JUPYTER_RUNTIME_DIR"]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "repl_pair", "mcp", "--kernel", str(kernel.pid), *options],
        env={"JUPYTER_RUNTIME_DIR": runtime, "PYTHONPATH": str(ROOT)},
    )

    async def talk():
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            stories = await client.call_tool("list_stories", {})
            return tools, stories.structured_content

    tools, stories = anyio.run(talk)
    assert ("get_value" in tools) is listed
    assert stories["result"]["total"] == 3


@pytest.mark.full
def test_an_interrupt_of_the_command_leaves_the_cell_alone(kernel, runtime_dir, tmp_path):
    gate = tmp_path / "gate"
    begun = kernel.start(
        f"import os\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.02)\n'unharmed'"
    )
    command = subprocess.Popen(
        [sys.executable, "-m", "repl_pair", "run", "shop.double/Good"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # What is started in the background inherits that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert command.stderr is not None
    shown = iter(command.stderr.readline, "")  # on a busy machine of the reads before it too
    assert any("… run_variant" in line for line in shown)
    command.send_signal(signal.SIGINT)
    out, _ = command.communicate(timeout=BOUND_S)
    assert command.returncode != 0
    assert out == ""
    gate.touch()
    assert kernel.finish(begun).value == "'unharmed'"


def test_a_pause_holds_while_a_cell_runs_until_the_person_resumes(kernel, shell, envelopes):
    id, path = kernel.path.stem.removeprefix("kernel-"), str(kernel.path)
    cell = kernel.start("import time\nwhile 'go' not in globals(): time.sleep(0.01)")
    paused = shell("pause", id)
    assert (paused.returncode, paused.stdout) == (0, "Agents are paused.\n")
    listed = shell("approvals", "--kernel", path, "--json")
    assert envelopes(listed.stdout)[0]["result"]["paused_s"] > 0
    assert shell("list", "stories", "--kernel", path).returncode == 0
    assert shell("resume", "--kernel", path).stdout == "Agents go on.\n"
    listed = shell("approvals", "--kernel", path)
    assert (listed.stdout, listed.stderr) == ("", "none\n")
    os.kill(kernel.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in kernel.finish(cell).error


def test_an_answer_to_nothing_is_a_usage_error(kernel, shell):
    for words in (("approve", "nosuchone"), ("deny", "nosuchone", "--reason", "no")):
        refused = shell(*words)
        assert refused.returncode == 2
        assert refused.stderr.startswith("not_found: There is no approval 'nosuchone'.")
