"""Ports that jupyter_client gives kernels which the tests start, free until the kernel binds them.

jupyter_client takes a port that the system gives to nobody at that moment and releases it; the
kernel binds it a second later. If another process got it meanwhile the kernel ends, and a
Jupyter Server restarts it five times with the same port. So ports come from below those that
the system gives.
"""

import os
import random
import socket
from pathlib import Path
from typing import Any

from jupyter_client import connect
from jupyter_client.connect import LocalPortCache

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
PORTS = range(10_000, 32_000)[WORKER::WORKERS]
"""Of each worker of xdist its own: two of them start kernels in the same second."""


def use_own_ports() -> None:
    """Choose ports so in this process, and in the programs of Jupyter that it starts."""
    LocalPortCache.find_available_port = _find_available_port
    os.environ["JUPYTER_CONFIG_PATH"] = str(Path(__file__).with_name("jupyter"))


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody else is given."""
    cache = LocalPortCache.instance()
    return [_find_available_port(cache, "127.0.0.1") for _ in range(count)]


def write_connection_file(path: str, **options: Any) -> tuple[str, Any]:
    """Write a connection file as jupyter_client does, with ports that nobody else is given."""
    names = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")
    by_port = options.get("transport", "tcp") == "tcp"
    ports = dict(zip(names, free_ports(5), strict=True)) if by_port else {}
    return connect.write_connection_file(path, **ports, **options)


def _find_available_port(cache: LocalPortCache, ip: str) -> int:
    while True:
        port = random.choice(PORTS)
        with socket.socket() as free:
            if port not in cache.currently_used_ports and free.connect_ex((ip, port)) != 0:
                cache.currently_used_ports.add(port)
                return port
