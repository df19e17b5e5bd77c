"""Programs that serve notebooks: started on loopback, with no trace of who runs the tests."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from shutil import rmtree

from jupyter_client.blocking import BlockingKernelClient

from front_ends.bounds import BOUND_S
from front_ends.lean import leave_out

ROOT = Path(__file__).parents[3]
POLITE_S = 3.0
QUIET = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}
OPTIONS = (
    "--no-browser",
    "--ServerApp.allow_root=True",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    "--ServerApp.terminals_enabled=False",
    "--LabApp.extension_manager=readonly",
    "--LabApp.expose_app_in_browser=True",
)


STACKS = """
import faulthandler, tempfile
with tempfile.TemporaryFile("w+") as file:
    faulthandler.dump_traceback(file)
    file.seek(0)
    print(file.read())
"""


@dataclass(kw_only=True, frozen=True)
class JupyterServer:
    """One server; JupyterLab is at `lab` and `doc`, Notebook 7 at `notebooks`."""

    url: str
    token: str
    folder: Path
    runtime: Path
    settings: Path
    environment: dict
    counter: Iterator[int] = field(default_factory=count)

    def count(self):
        """Return a number that it has not given before."""
        return next(self.counter)

    def address(self, path):
        return f"{self.url}{path}?token={self.token}"

    def stacks(self):
        """Return where all threads of its kernels stand, those of panels too."""
        return "\n".join(map(stacks_of, sorted(self.runtime.glob("kernel-*.json"))))

    @property
    def picture(self):
        """The address of what a page shows without a script."""
        return f"{self.url}static/favicons/favicon.ico"

    def forget_settings(self):
        """Undo what a person has chosen in the menus."""
        rmtree(self.settings, ignore_errors=True)
        for name, settings in QUIET.items():
            file = self.settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))


def stacks_of(file):
    client = BlockingKernelClient(connection_file=str(file))
    client.load_connection_file()
    client.start_channels(hb=False)
    printed = [file.stem]

    def hear(message):
        printed.append(message["content"].get("text", ""))

    try:
        client.execute_interactive(STACKS, output_hook=hear, timeout=POLITE_S)
    except TimeoutError as error:
        printed.append(str(error))
    finally:
        client.stop_channels()
    return "\n".join(printed)


def isolated(home):
    """An environment whose every dir of Jupyter, IPython and marimo lies in `home`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    own = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_STATE_HOME": home / "state",
        "PYTHONPATH": path,
    }
    return {**os.environ, **{name: str(value) for name, value in own.items()}}


@contextmanager
def running(words, log, **how):
    """A process in a session of its own, which is ended as a whole."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            **how,
        )
    try:
        yield process
    finally:
        end(process)


def end(process):
    """End it politely, or else at once: nothing is left in it to lose."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(POLITE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(process, condition, log):
    """Return the first true answer; fail with the log when the process ends or the bound passes."""
    until = time.monotonic() + BOUND_S
    while not (answer := condition()):
        alive = process.poll() is None and time.monotonic() < until
        assert alive, f"{process.args} does not serve:\n{log.read_text()[-3000:]}"
        time.sleep(0.02)
    return answer


@contextmanager
def jupyter_server(folder):
    home = folder / "home"
    (home / "runtime").mkdir(parents=True)
    (folder / "notebooks").mkdir()
    leave_out(home / "config")
    token, log = secrets.token_hex(), folder / "server.log"
    environment = {**isolated(home), "JUPYTER_TOKEN": token}
    words = ("-m", "jupyterlab", *OPTIONS, f"--ServerApp.root_dir={folder / 'notebooks'}")
    with running(words, log, env=environment) as process:
        facts = wait_for(process, lambda: read_facts(home / "runtime", process.pid), log)
        yield JupyterServer(
            url=facts["url"],
            token=token,
            folder=folder / "notebooks",
            runtime=home / "runtime",
            settings=home / "settings",
            environment=environment,
        )


def read_facts(runtime, pid):
    """What the server writes down once it listens."""
    try:
        return json.loads((runtime / f"jpserver-{pid}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
