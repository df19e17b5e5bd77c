"""Heartbeats: which of many kernels are alive, all asked at once."""

import ipaddress
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import zmq

Connection: TypeAlias = Mapping[str, Any]
"""The content of a connection file."""

HEARTBEAT_S = 0.5
"""A kernel whose heartbeat stays silent this long counts as dead."""
BUSY_MACHINE_S = 4.0
"""How long the heartbeat of a process that could run may take before that process is refused."""
SLICE_S = 0.05
"""What one wait for answers counts for: a machine that stands still for longer uses up one."""
REFUSAL_S = 0.05
"""How long closed ports together may take to refuse; beyond it, the heartbeat decides."""
_OTHERS = ("shell_port", "control_port", "iopub_port", "stdin_port")


def find_refusing(infos: Mapping[Path, Connection]) -> set[Path]:
    """Return the files whose port refuses connections, as after a kernel's end."""
    refused: set[Path] = set()
    until = time.monotonic() + REFUSAL_S
    for path, info in infos.items():
        try:
            host = str(ipaddress.ip_address(info.get("ip", "127.0.0.1")))
            # A port of this machine takes or refuses a connection at once, those of others later.
            left = max(0.001, until - time.monotonic())
            socket.create_connection((host, int(info["hb_port"])), timeout=left).close()
        except ConnectionRefusedError:
            refused.add(path)
        except (OSError, OverflowError, TypeError, ValueError):
            continue
    return refused


def find_answering(
    infos: Mapping[Path, Connection], *, timeout_s: float = HEARTBEAT_S
) -> set[Path]:
    """Return the files whose heartbeat answers; all are asked at once."""
    context = zmq.Context()
    poller = zmq.Poller()
    asked = {socket: name for name, info in infos.items() if (socket := _ask(context, info))}
    for socket in asked:
        poller.register(socket, zmq.POLLIN)
    answered: set[Path] = set()
    silent_s = 0.0
    while len(answered) < len(asked) and silent_s < timeout_s:
        found = poller.poll(int(SLICE_S * 1000))
        silent_s += 0.0 if found else SLICE_S
        for socket, _ in found:
            poller.unregister(socket)
            answered.add(asked[socket])
    context.destroy(linger=0)
    return answered


def _ask(context: "zmq.Context[zmq.Socket[bytes]]", info: Connection) -> "zmq.Socket[bytes] | None":
    """Send one heartbeat; None where the file's address or keys are not valid."""
    socket = context.socket(zmq.REQ)
    try:
        if info.get("curve_publickey"):
            socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
            socket.curve_serverkey = str(info["curve_publickey"]).encode()
        socket.connect(heartbeat_address(info))
    except zmq.ZMQError:
        socket.close(linger=0)
        return None
    socket.send(b"repl_pair")
    return socket


def heartbeat_address(info: Connection) -> str:
    """Return the address of a heartbeat; of kernels that run at one time each has its own."""
    return _address(info, info["hb_port"])


def other_addresses(info: Connection) -> set[str]:
    """Return the addresses of a kernel's other sockets; a heartbeat there is no message."""
    return {_address(info, info[name]) for name in _OTHERS if name in info}


def _address(info: Connection, port: object) -> str:
    if info.get("transport", "tcp") == "tcp":
        return f"tcp://{info.get('ip', '127.0.0.1')}:{port}"
    return f"{info['transport']}://{info.get('ip')}-{port}"
