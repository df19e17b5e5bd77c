import json
import os
import signal
import time

import pytest

from repl_pair.bridge.discover import HEARTBEAT_S, find_kernel, find_kernels
from repl_pair.bridge.link import KernelInfo


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


def test_all_heartbeats_together_take_one_bound(kernel, runtime_dir):
    info = json.loads(kernel.path.read_text())
    kernel.kill()
    for n in range(20):
        (runtime_dir / f"kernel-{n}.json").write_text(json.dumps(info | {"hb_port": 1}))
    before = time.monotonic()
    assert len(find_kernels()) == 21
    assert time.monotonic() - before < HEARTBEAT_S + 0.5


def test_a_stopped_kernel_does_not_count_as_alive(kernel):
    kernel.signal(signal.SIGSTOP)
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


def test_an_old_file_with_the_ports_of_a_living_kernel_is_dead(kernel, runtime_dir):
    old = runtime_dir / "kernel-old.json"
    old.write_text(kernel.path.read_text())
    os.utime(old, (0, 0))
    assert {k.id: k.alive for k in find_kernels()} == {kernel.id: True, "old": False}


@pytest.mark.parametrize("transport", ["curve", "ipc"])
def test_a_kernel_of_another_transport_answers_the_probe(start_kernel, write_connection, transport):
    kernel = start_kernel(path=write_connection(transport))
    assert [k.alive for k in find_kernels()] == [True]
    kernel.kill()
    assert [k.alive for k in find_kernels()] == [False]


def test_a_kernel_of_another_runtime_dir_is_left_out_if_ours_is_set(start_kernel, tmp_path):
    start_kernel(path=tmp_path / "tmpab12.json", env={"JUPYTER_RUNTIME_DIR": str(tmp_path)})
    assert find_kernels() == []


def test_one_file_gives_one_kernel_and_a_missing_one_none(kernel):
    assert find_kernel(kernel.path) == find_kernels()[0]
    assert find_kernel(kernel.path.with_name("kernel-no.json")) is None
