"""An app of marimo's, run for one page."""

import urllib.error
import urllib.request
from contextlib import contextmanager
from textwrap import indent

from ports import free_ports

from front_ends.server import isolated, running, wait_for

APP = "import marimo\n\napp = marimo.App()\n"
CELL = "\n@app.cell\ndef _():\n{}\n    return\n"


@contextmanager
def marimo_server(folder, *cells):
    """Return the address of an app with these cells."""
    file, log, port = folder / "app.py", folder / "marimo.log", free_ports(1)[0]
    file.write_text(APP + "".join(CELL.format(indent(cell, "    ")) for cell in cells))
    options = ("--headless", "--no-token", "--host", "127.0.0.1", "--port", port)
    words = ("-m", "marimo", "run", *options, file)
    with running(words, log, env=isolated(folder), cwd=folder) as process:
        address = f"http://127.0.0.1:{port}/"
        wait_for(process, lambda: answers(f"{address}health"), log)
        yield address


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as reply:
            return reply.status == 200
    except urllib.error.URLError:
        return False
