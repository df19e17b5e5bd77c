"""What is kept of a worker: the end of its output, and nothing of one that was not started."""

import sys
import tempfile

import pytest

from repl_pair.bridge.background.output import KEPT_BYTES, Output
from repl_pair.bridge.background.worker import Worker
from repl_pair.errors import RequestError
from repl_pair.wire import REDACTED

TOKEN = "Zq7kW2mXv9LbT4nRp6Ys"
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEA\n" * 20
    + "-----END RSA PRIVATE KEY-----\n"
)


def tail_of(*parts, most=1_000):
    output = Output()
    for part in parts:
        output.data_received(part if isinstance(part, bytes) else part.encode())
    return output.tail(most)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("short\nand whole", "short\nand whole"),
        ("", ""),
        ("one\n" * 1_000 + "last\n", "one\n" * 248 + "last\n"),
        ("x" * 2_000 + " last", "last"),
        ("x" * 2_000, "…" + "x" * 999),
        (b"caf\xc3", "caf�"),
        (KEY + "after\n", KEY + "after\n"),
        ("x" * 1_000 + "\n" + KEY + "after\n", KEY + "after\n"),
        (KEY + "after\n" * 140, "after\n" * 140),
    ],
)
def test_the_tail_has_whole_lines_and_no_part_of_a_private_key(written, shown):
    assert tail_of(written) == shown


def test_a_secret_of_the_environment_is_hidden_also_where_it_came_in_parts(monkeypatch):
    monkeypatch.setenv("PAYMENTS_API_TOKEN", TOKEN)
    shown = tail_of("by ", TOKEN[:9], f"{TOKEN[9:]}\n", f"{TOKEN.encode().hex()}\n")
    assert shown == f"by {REDACTED}\n{REDACTED}\n"


def test_what_is_kept_is_bounded_and_what_is_cleared_is_gone():
    output = Output()
    for _ in range(100):
        output.data_received(b"line\n" * 1_000)
    assert KEPT_BYTES - 10 < len(output.tail(KEPT_BYTES)) <= KEPT_BYTES
    output.clear()
    assert output.tail(10) == ""


def test_a_worker_that_the_system_does_not_start_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RequestError, match="was not started: No such file") as caught:
        Worker("one", principal="agent", inject=False)
    assert caught.value.code == "cannot_run"
    assert list(tmp_path.iterdir()) == []
