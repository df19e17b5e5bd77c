import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from halting import halt
from waiting import wait_until

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import find_kernel, find_kernels, unusable_files
from repl_pair.bridge.kernels.heartbeat import HEARTBEAT_S, find_answering
from repl_pair.bridge.kernels.processes import (
    files_named,
    read_parent,
    scan_processes,
)

STALE = 100
MUTES = 20


def test_a_running_kernel_is_found_with_its_pid_and_notebook(start_kernel):
    kernel = start_kernel(notebook="/home/ann/prices.ipynb")
    assert find_kernels() == [
        KernelInfo(
            id=kernel.id,
            name="unnamed",
            pid=kernel.pid,
            path=str(kernel.path),
            notebook="/home/ann/prices.ipynb",
            alive=True,
            began=psutil.Process(kernel.pid).create_time(),
        )
    ]


@pytest.mark.parametrize("spelling", ["-f {}", "-f={}", "--f={}"])
def test_a_kernel_with_its_file_elsewhere_is_found_by_its_command_line(
    start_kernel, tmp_path, spelling
):
    kernel = start_kernel(path=tmp_path / "tmpab12.json", spelling=spelling)
    assert [(k.id, k.pid, k.alive) for k in find_kernels()] == [("tmpab12", kernel.pid, True)]


def test_a_file_whose_kernel_was_killed_is_dead_and_stays(start_kernel):
    living, killed = start_kernel(), start_kernel()
    killed.kill()
    assert [(k.id, k.alive) for k in find_kernels()] == [(living.id, True), (killed.id, False)]
    assert killed.path.exists()


def test_an_ended_kernel_whose_ports_two_others_have_got_hides_neither(start_kernel, runtime_dir):
    first, second = start_kernel(), start_kernel()
    infos = [json.loads(kernel.path.read_text()) for kernel in (first, second)]
    ended = runtime_dir / "kernel-ended.json"
    ended.write_text(json.dumps(infos[0] | {"shell_port": infos[1]["hb_port"]}))
    os.utime(ended, (0, 0))
    alive = {k.id: k.alive for k in find_kernels()}
    assert alive == {first.id: True, second.id: True, "ended": False}


def test_no_heartbeat_goes_to_another_socket_of_a_living_kernel(kernel, person, runtime_dir):
    info = json.loads(kernel.path.read_text())
    left_behind = {"hb_port": info["shell_port"], "shell_port": 1, "control_port": 2}
    (runtime_dir / "kernel-ended.json").write_text(json.dumps(info | left_behind))
    assert {k.id: k.alive for k in find_kernels()} == {kernel.id: True, "ended": False}
    assert person.run("'answered'").value == "'answered'"
    assert "DELIM" not in kernel.log.read_text()


@pytest.mark.full
def test_all_heartbeats_together_take_one_bound(kernel, runtime_dir):
    info = json.loads(kernel.path.read_text())
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute_info = info | {"hb_port": mute.getsockname()[1]}
        for n in range(MUTES):
            (runtime_dir / f"kernel-{n}.json").write_text(json.dumps(mute_info))
        before = time.monotonic()
        assert [k.id for k in find_kernels() if k.alive] == [kernel.id]
        assert HEARTBEAT_S <= time.monotonic() - before < MUTES * HEARTBEAT_S / 2
    assert len(find_kernels()) == MUTES + 1


@pytest.mark.full
def test_files_that_kernels_left_behind_cost_no_wait(kernel, runtime_dir):
    info = json.loads(kernel.path.read_text())
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for n in range(STALE):
        (runtime_dir / f"kernel-{n}.json").write_text(json.dumps(info | {"hb_port": port}))
    took = time_of_looks()
    found = find_kernels()
    assert [k.id for k in found if k.alive] == [kernel.id]
    assert len(found) == len([*runtime_dir.glob("kernel-*.json")]) == STALE + 1
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute_info = info | {"hb_port": mute.getsockname()[1]}
        (runtime_dir / "kernel-mute.json").write_text(json.dumps(mute_info))
        waited = time_of_looks()
    print(f"{STALE} stale files and a living kernel: {took * 1000:.0f} ms")
    assert waited - took > HEARTBEAT_S / 2


def time_of_looks():
    """Return how long the shortest of some looks took."""
    looks = []
    for _ in range(5):
        before = time.monotonic()
        find_kernels()
        looks.append(time.monotonic() - before)
    return min(looks)


def test_a_stopped_kernel_does_not_count_as_alive(kernel):
    halt(kernel.pid)
    assert [k.alive for k in find_kernels()] == [False]
    kernel.signal(signal.SIGCONT)
    assert [k.alive for k in find_kernels()] == [True]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"hb_port": 1}', '{"hb_port": "x", "control_port": 1, "iopub_port": 2}'],
)
def test_a_file_that_is_no_connection_file_hides_no_kernel(kernel, runtime_dir, text):
    (runtime_dir / "kernel-junk.json").write_text(text)
    assert [k.id for k in find_kernels() if k.alive] == [kernel.id]


@pytest.mark.parametrize("written", [0, 2**32], ids=["before", "after"])
@pytest.mark.parametrize("only", [{}, {"control_port": 1}], ids=["all", "its heartbeat"])
def test_a_file_with_the_ports_of_a_living_kernel_is_dead(kernel, runtime_dir, written, only):
    other = runtime_dir / "kernel-other.json"
    info = json.loads(kernel.path.read_text())
    other.write_text(json.dumps({**info, "key": "another", **only}))
    os.utime(other, (written, written))
    assert {k.id: k.alive for k in find_kernels()} == {kernel.id: True, "other": False}
    assert [find_kernel(path).alive for path in (kernel.path, other)] == [True, False]


@pytest.mark.parametrize("transport", ["curve", "ipc"])
def test_a_kernel_of_another_transport_answers_the_probe(start_kernel, write_connection, transport):
    kernel = start_kernel(path=write_connection(transport))
    assert [k.alive for k in find_kernels()] == [True]
    kernel.kill()
    assert [k.alive for k in find_kernels()] == [False]


def test_a_kernel_of_another_runtime_dir_is_left_out_if_one_is_set(start_kernel, tmp_path):
    start_kernel(path=tmp_path / "tmpab12.json", env={"JUPYTER_RUNTIME_DIR": str(tmp_path)})
    assert find_kernels() == []


def test_one_file_gives_one_kernel_and_a_missing_one_none(kernel):
    assert find_kernel(kernel.path) == find_kernels()[0]
    assert find_kernel(kernel.path.with_name("kernel-no.json")) is None


# --- whose files


def test_a_file_of_another_user_is_not_read_and_reported(kernel, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: os.stat(kernel.path).st_uid + 1)
    assert find_kernels() == []
    assert find_kernel(kernel.path) is None
    assert [*unusable_files()] == [(kernel.path, "it belongs to another user")]


def test_files_that_are_no_connection_files_are_reported(kernel, runtime_dir):
    (runtime_dir / "kernel-junk.json").write_text("{}")
    (runtime_dir / "kernel-large.json").write_text(" " * 70_000 + kernel.path.read_text())
    os.mkfifo(runtime_dir / "kernel-pipe.json")
    assert [k.id for k in find_kernels()] == [kernel.id]
    assert [(path.name, why) for path, why in unusable_files()] == [
        ("kernel-junk.json", "it is not a connection file"),
        ("kernel-large.json", "it is larger than 65536 bytes"),
        ("kernel-pipe.json", "it is not a file"),
    ]


# --- whose process


@pytest.fixture
def start_python(tmp_path):
    """Starts `python -c code *words` and gives it once its code runs."""
    started = []

    def start(code, *words):
        began = tmp_path / f"began-{len(started)}"
        code = f"open({str(began)!r}, 'w').close()\n{code}"
        process = subprocess.Popen([sys.executable, "-c", code, *words], cwd=tmp_path)
        started.append(process)
        wait_until(began.exists, what="the code to run")
        return process

    yield start
    family = [c for p in started for c in psutil.Process(p.pid).children(recursive=True)]
    for process in (*started, *family):
        process.kill()
    for process in started:
        process.wait()


SLEEP = "import time; time.sleep(60)"
FORK = f"import os; os.fork(); {SLEEP}"
WRAP = "import subprocess, sys; subprocess.run(sys.argv[1:])"


@pytest.mark.full
def test_a_fork_of_a_kernel_does_not_take_its_place(start_python, tmp_path):
    process = start_python(FORK, "-f", "kernel.json")
    wait_until(psutil.Process(process.pid).children, what="the fork")
    assert scan_processes()[tmp_path / "kernel.json"].process.pid == process.pid


@pytest.mark.full
def test_a_fork_that_has_the_sockets_of_an_ended_kernel_is_not_waited_for(
    kernel, sit_at, monkeypatch
):
    sit_at(kernel).start("import os, time; os.fork() or time.sleep(60)")
    (fork,) = wait_until(psutil.Process(kernel.pid).children, what="the fork")
    asked = []

    def ask(infos, timeout_s=HEARTBEAT_S):
        asked.append((set(infos), timeout_s))
        return find_answering(infos, timeout_s=timeout_s)

    monkeypatch.setattr("repl_pair.bridge.kernels.discovery.find_answering", ask)
    try:
        kernel.kill()
        assert [found.alive for found in find_kernels()] == [False]
    finally:
        fork.kill()
    assert {timeout_s for paths, timeout_s in asked if paths} == {HEARTBEAT_S}


@pytest.mark.full
def test_a_program_that_wraps_a_kernel_does_not_take_its_place(start_python, tmp_path):
    wrapper = start_python(WRAP, sys.executable, "-c", SLEEP, "-f", "kernel.json")
    (inner,) = wait_until(psutil.Process(wrapper.pid).children, what="the wrapped program")
    wait_until(lambda: inner.cmdline() != wrapper.args, what="its own command line")
    assert scan_processes()[tmp_path / "kernel.json"].process.pid == inner.pid


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("python -m ipykernel_launcher -f /r/kernel-1.json", ["/r/kernel-1.json"]),
        ("python -m ipykernel_launcher --f=/r/kernel-v3a.json", ["/r/kernel-v3a.json"]),
        ("""python -m ipykernel_launcher '--f="/r r/kernel-v3a.json"'""", ["/r r/kernel-v3a.json"]),
        ("xpython --connection-file /r/kernel-2.json", ["/r/kernel-2.json"]),
        ("python -m ipykernel --IPKernelApp.connection_file=k.json", ["k.json"]),
        ("jupyter console --existing /r/kernel-1.json", []),
        ("python -m ipykernel_launcher -f", []),
        ("docker compose -f compose.yaml up", []),
    ],
)
def test_a_connection_file_is_read_off_a_command_line(line, names):
    assert [*files_named(shlex.split(line))] == names


@pytest.mark.parametrize(
    ("line", "front_end", "notebook"),
    [
        ("/v/bin/python /v/bin/papermill in.ipynb out.ipynb -p n 1", "papermill", "in.ipynb"),
        ("python3.11 -X utf8 -m papermill in.ipynb", "papermill", "in.ipynb"),
        ("papermill -p source other.ipynb in.ipynb", "papermill", None),
        ("papermill in.ipynb -p source other.ipynb", "papermill", "in.ipynb"),
        ("papermill s3://shop/in.ipynb out.ipynb", "papermill", None),
        ("/v/bin/python /v/bin/jupyter-execute --timeout=9 in.ipynb", "nbclient", "in.ipynb"),
        ("jupyter-execute in.ipynb other.ipynb", "nbclient", None),
        ("C:\\\\v\\\\jupyter-nbconvert.exe --execute in.ipynb", "nbconvert", "in.ipynb"),
        ("python /v/bin/jupyter-console", "console", None),
        ("python /v/bin/jupyter-lab in.ipynb", "jupyter-server", None),
        ("python run.py in.ipynb", None, None),
        ("python -m pytest in.ipynb", None, None),
        ("python", None, None),
        ("", None, None),
    ],
)
def test_a_front_end_and_its_notebook_are_read_off_a_command_line_or_left_open(
    tmp_path, line, front_end, notebook
):
    for name in ("in.ipynb", "other.ipynb"):
        (tmp_path / name).touch()
    words = shlex.split(line)
    expected = None if notebook is None else str(tmp_path / notebook)
    assert read_parent(words, str(tmp_path)) == (front_end, expected)
