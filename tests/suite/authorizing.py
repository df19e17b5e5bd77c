"""A proxy that adds a token to each request, for a client that cannot send one."""

import asyncio
import threading
from contextlib import contextmanager, suppress

from bounds import BOUND_S


class _Proxy:
    def __init__(self, port, token):
        self._target = port
        self._line = f"\r\nAuthorization: Bearer {token}".encode()

    async def serve(self, started, ended):
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        started(server.sockets[0].getsockname()[1])
        async with server:
            await ended.wait()

    async def _pass_on(self, reader, writer):
        source, sink = await asyncio.open_connection("127.0.0.1", self._target)
        back = asyncio.create_task(_copy(source, writer))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, mark, rest = head.partition(b"\r\n")
                sizes = [line for line in rest.lower().split(b"\r\n") if b"content-length:" in line]
                size = int(sizes[0].partition(b":")[2]) if sizes else 0
                sink.write(first + self._line + mark + rest + await reader.readexactly(size))
        back.cancel()
        sink.close()
        writer.close()


async def _copy(source, sink):
    with suppress(ConnectionError):
        while part := await source.read(65_536):
            sink.write(part)
            await sink.drain()
    sink.close()


@contextmanager
def authorized():
    """Yield `open(port, token)`: it serves what stands at a port with a token; gives its own."""
    loop, ended = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    tasks = []

    def open_proxy(port, token):
        found, ports = threading.Event(), []

        def started(own):
            ports.append(own)
            found.set()

        proxy = _Proxy(port, token)
        tasks.append(asyncio.run_coroutine_threadsafe(proxy.serve(started, ended), loop))
        assert found.wait(BOUND_S)
        return ports[0]

    try:
        yield open_proxy
    finally:
        loop.call_soon_threadsafe(ended.set)
        for task in tasks:
            task.result(BOUND_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()
