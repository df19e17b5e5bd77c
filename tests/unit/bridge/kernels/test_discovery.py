"""Files that discovery meets, and that are no connection files of a kernel."""

import json
import subprocess

import pytest

from repl_pair.bridge.kernels.discovery import find_kernel, find_kernels, unusable_files


def test_a_file_that_is_a_link_to_itself_is_of_no_kernel_and_ends_no_discovery(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    loop = tmp_path / "kernel-loop.json"
    loop.symlink_to(loop)
    assert find_kernels() == []
    assert find_kernel(loop) is None
    assert [path for path, _ in unusable_files()] == [loop]


def test_a_process_whose_file_is_a_link_to_itself_is_of_no_kernel_and_ends_no_discovery(
    tmp_path, monkeypatch
):
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    words = ["sh", "-c", "read line", "sh", "-f", loop.name]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE) as process:
        assert find_kernels() == []
        assert process.poll() is None
        process.communicate()


PORTS = {"hb_port": 1, "control_port": 2, "iopub_port": 3}


@pytest.mark.parametrize(
    "content",
    [
        "[" * 60_000,
        *(
            json.dumps({**PORTS, slot: value})
            for slot in ("ip", "transport", "kernel_name", "jupyter_session")
            for value in ("\ud800", {"a": 1})
        ),
        *(json.dumps({**PORTS, slot: "\ud800"}) for slot in ("hb_port", "shell_port")),
    ],
)
def test_a_file_that_no_kernel_wrote_ends_no_discovery(tmp_path, monkeypatch, content):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    file = tmp_path / "kernel-odd.json"
    file.write_text(content)
    assert find_kernels() == []
    assert list(unusable_files()) == [(file, "it is not a connection file")]
