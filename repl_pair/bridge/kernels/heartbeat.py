"""Heartbeats: which of many kernels are alive, all asked at once."""

import errno
import ipaddress
import math
import selectors
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import zmq

HEARTBEAT_S = 0.5
"""A kernel whose heartbeat stays silent this long counts as dead."""
REFUSAL_S = 0.05
"""How long a closed port may take to refuse; beyond it, the heartbeat decides."""


def find_refusing(infos: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """Return the positions of those whose port refuses connections, as after a kernel's end."""
    refused: set[int] = set()
    with selectors.DefaultSelector() as selector, ExitStack() as closing:
        for n, info in infos.items():
            connecting = _begin_to_connect(info)
            if connecting is not None:
                closing.enter_context(connecting)
                selector.register(connecting, selectors.EVENT_WRITE, n)
        until = time.monotonic() + REFUSAL_S
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                tried: Any = selector.unregister(key.fileobj).fileobj
                error = tried.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error == errno.ECONNREFUSED:
                    refused.add(key.data)
    return refused


def _begin_to_connect(info: Mapping[str, Any]) -> socket.socket | None:
    """Begin to connect to a heartbeat; None where the file's address is not an IP address."""
    try:
        address = str(ipaddress.ip_address(info.get("ip", "127.0.0.1"))), int(info["hb_port"])
    except (TypeError, ValueError):
        return None
    connecting = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    connecting.setblocking(False)
    try:
        connecting.connect_ex(address)
    except (OSError, OverflowError):
        connecting.close()
        return None
    return connecting


def find_answering(
    infos: Mapping[int, Mapping[str, Any]], *, timeout_s: float = HEARTBEAT_S
) -> set[int]:
    """Return the positions of those whose heartbeat answers; all are asked at once."""
    context = zmq.Context()
    poller = zmq.Poller()
    asked = {socket: n for n, info in infos.items() if (socket := _ask(context, info))}
    for socket in asked:
        poller.register(socket, zmq.POLLIN)
    answered: set[int] = set()
    until = time.monotonic() + timeout_s
    while len(answered) < len(asked) and (left := until - time.monotonic()) > 0:
        for socket, _ in poller.poll(math.ceil(left * 1000)):
            poller.unregister(socket)
            answered.add(asked[socket])
    context.destroy(linger=0)
    return answered


def _ask(
    context: "zmq.Context[zmq.Socket[bytes]]", info: Mapping[str, Any]
) -> "zmq.Socket[bytes] | None":
    """Send one heartbeat; None where the file's address or keys are not legal."""
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


def heartbeat_address(info: Mapping[str, Any]) -> str:
    """Return the address of a heartbeat; of kernels that run at one time each has its own."""
    if info.get("transport", "tcp") == "tcp":
        return f"tcp://{info.get('ip', '127.0.0.1')}:{info['hb_port']}"
    return f"{info['transport']}://{info.get('ip')}-{info['hb_port']}"
