"""What is asked of Jupyter Servers, and what is never sent to them."""

import json
import os
import socket
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels import servers
from repl_pair.bridge.kernels.servers import Answer, ServerKernel, ask_servers

MUTES = 20
TOKEN = "tok-4f1c0ffee9"
KERNELS = [
    {"id": "k1", "execution_state": "busy", "last_activity": "2026-01-02T03:04:05.500000Z"},
    {"id": "k2", "execution_state": "idle", "last_activity": None},
    {"id": "k3", "execution_state": "starting"},
]
SESSIONS = [
    {"path": "b/two.ipynb", "type": "notebook", "kernel": {"id": "k1"}},
    {"path": "a/one.ipynb", "type": "notebook", "kernel": {"id": "k1"}},
    {"path": "console-1", "type": "console", "kernel": {"id": "k2"}},
    {"path": "gone.ipynb", "type": "notebook", "kernel": {"id": "k9"}},
]
ACTIVE = datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def no_server_is_given_up(monkeypatch):
    """Let a busy machine take its time; the test of the bound sets its own."""
    monkeypatch.setattr(servers, "BOUND_S", BOUND_S)


@pytest.fixture
def serve():
    """Answers as a server does: `serve({path: (status, text)})` gives port and what is heard."""
    started = []

    def start(answers):
        heard = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                heard.append((self.path, dict(self.headers)))
                status, text = answers.get(self.path.partition("?")[0], (404, "{}"))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", text)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        started.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server.server_address[1], heard

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def write(tmp_path):
    """Writes a server's runtime file: `write(port, **slots)`."""

    def write_file(port, **slots):
        info = {
            "port": port,
            "pid": os.getpid(),
            "base_url": "/lab/",
            "hostname": "127.0.0.1",
            "token": TOKEN,
            "root_dir": "/home/ann",
            "secure": False,
            "sock": "",
            "url": f"http://127.0.0.1:{port}/lab/",
        }
        path = tmp_path / f"jpserver-{port}.json"
        path.write_text(json.dumps(info | slots))
        return path

    return write_file


def good():
    return {
        "/lab/api/kernels": (200, json.dumps(KERNELS)),
        "/lab/api/sessions": (200, json.dumps(SESSIONS)),
    }


def test_a_server_names_its_notebooks_and_states_how_its_kernels_are(serve, write, tmp_path):
    port, heard = serve(good())
    write(port)
    assert ask_servers(tmp_path)() == (
        Answer(
            server=f"Jupyter Server on port {port} (pid {os.getpid()})",
            kernels={
                "k1": ServerKernel(
                    state="busy", active=ACTIVE, session=True, notebook="/home/ann/a/one.ipynb"
                ),
                "k2": ServerKernel(state="idle", active=None, session=True, notebook=None),
                "k3": ServerKernel(state="starting", active=None, session=False, notebook=None),
            },
        ),
    )
    assert [path for path, _ in heard] == [
        "/lab/api/kernels?no_track_activity=1",
        "/lab/api/sessions?no_track_activity=1",
    ]
    assert {headers["Authorization"] for _, headers in heard} == {f"token {TOKEN}"}


def test_a_server_without_a_token_is_asked_without_one(serve, write, tmp_path):
    port, heard = serve(good())
    write(port, token="")
    (answer,) = ask_servers(tmp_path)()
    assert set(answer.kernels) == {"k1", "k2", "k3"}
    assert all("Authorization" not in headers for _, headers in heard)


def test_servers_that_write_nothing_are_waited_for_once(serve, write, tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "BOUND_S", bound_s := 3.0)
    port, _ = serve(good())
    write(port)
    mutes = [socket.create_server(("127.0.0.1", 0)) for _ in range(MUTES)]
    for mute in mutes:
        write(mute.getsockname()[1])
    before = time.monotonic()
    answers = ask_servers(tmp_path)()
    assert time.monotonic() - before < MUTES * bound_s / 2
    assert [bool(answer.fault) for answer in answers].count(True) == MUTES
    assert [set(answer.kernels) for answer in answers if not answer.fault] == [{"k1", "k2", "k3"}]
    for mute in mutes:
        mute.close()


@pytest.mark.parametrize(
    "kernels",
    [
        (403, "{}"),
        (500, TOKEN),
        (200, "{"),
        (200, "{}x"),
        (200, '[{"name": "no id"}]'),
        (200, "[1]"),
        (200, '[{"id": "k1", "last_activity": "yesterday"}]'),
    ],
)
def test_what_is_no_answer_is_a_fault_that_quotes_nothing(serve, write, tmp_path, kernels):
    port, _ = serve(good() | {"/lab/api/kernels": kernels})
    write(port)
    (answer,) = ask_servers(tmp_path)()
    assert answer.kernels == {}
    assert answer.fault.startswith("it could not be asked (")
    assert TOKEN not in repr(answer)


def test_a_redirect_is_not_followed(serve, write, tmp_path):
    other, overheard = serve(good())
    port, _ = serve({"/lab/api/kernels": (302, f"http://127.0.0.1:{other}/lab/api/kernels")})
    write(port)
    (answer,) = ask_servers(tmp_path)()
    assert (answer.kernels, overheard) == ({}, [])


@pytest.mark.parametrize(
    "slots", [{"hostname": "192.0.2.7"}, {"hostname": "example.org"}, {"sock": "/run/jupyter.sock"}]
)
def test_only_servers_on_the_loopback_interface_are_asked(serve, write, tmp_path, slots):
    port, heard = serve(good())
    write(port, **slots)
    (answer,) = ask_servers(tmp_path)()
    assert answer.fault == "it does not listen on a loopback port"
    assert heard == []


@pytest.mark.parametrize("hostname", ["localhost", "", "*", "0.0.0.0", "::"])
def test_a_server_on_all_interfaces_is_asked_on_the_loopback(serve, write, tmp_path, hostname):
    port, _ = serve(good())
    write(port, hostname=hostname, url="http://ann-laptop.example.org:1/")
    (answer,) = ask_servers(tmp_path)()
    assert set(answer.kernels) == {"k1", "k2", "k3"}


def test_the_file_of_another_user_or_of_an_ended_server_is_not_used(
    serve, write, tmp_path, monkeypatch
):
    port, heard = serve(good())
    os.utime(write(port), (0, 0))
    assert ask_servers(tmp_path)() == ()
    write(port, pid=2**22 + 1)
    assert ask_servers(tmp_path)() == ()
    write(port)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert ask_servers(tmp_path)() == ()
    assert heard == []


@pytest.mark.parametrize("text", ["", '{"port": 1', "[]", "{}", '{"port": 1, "pid": null}'])
def test_a_runtime_file_that_is_not_written_to_its_end_is_not_there_yet(serve, write, text):
    port, _ = serve(good())
    file = write(port)
    whole = file.read_text()
    file.write_text(text)
    assert ask_servers(file.parent)() == ()
    file.write_text(whole)
    assert len(ask_servers(file.parent)()) == 1
