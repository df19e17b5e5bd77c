"""A session over this process reaches no other kernel."""

import json

import pytest

from repl_pair.bridge.kernels import discovery
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_session_over_this_process_does_not_attach_to_the_kernel_of_a_file(tmp_path):
    file = tmp_path / "kernel-other.json"
    ports = {f"{name}_port": 1 for name in ("hb", "control", "iopub", "shell", "stdin")}
    file.write_text(json.dumps({**ports, "ip": "127.0.0.1", "transport": "tcp", "key": ""}))
    session = Session.direct(Policy())
    reply = await session.call("list_stories", {}, kernel=str(file))
    here = await session.call("list_stories", {}, kernel="here")
    await session.close()
    assert reply["error"]["code"] == "no_kernel"
    assert here["kernel"]["id"] == "here"


async def test_a_session_that_has_ended_opens_neither_a_kernel_nor_the_project(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    session = Session(Policy())
    await session.close()
    for op in ("list_stories", "list_annotations"):
        assert (await session.call(op, {}))["error"]["code"] == "no_kernel"
    await session.close()


async def test_a_session_that_has_ended_looks_for_no_kernel(monkeypatch):
    monkeypatch.setattr(discovery, "find_kernels", lambda: pytest.fail("it looked for kernels"))
    session = Session(Policy())
    await session.close()
    with pytest.raises(KernelError, match="This session has ended"):
        await session.links.get()
