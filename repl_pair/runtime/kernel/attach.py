"""Attaching and detaching: the host of this kernel, as long as a client or the person needs it."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from repl_pair.errors import KernelError
from repl_pair.runtime.capture import capture
from repl_pair.runtime.capture.own_threads import short_switch_interval
from repl_pair.runtime.clients.clients import CLIENTS, Client
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.kernel.control_host import NEEDED, ControlHost
from repl_pair.runtime.project.database import close_project, find_project
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.wire import Greeting, Reply, error_reply, ok_reply

if TYPE_CHECKING:
    from repl_pair.runtime.kernel.shell_host import ShellHost

T = TypeVar("T")
P = ParamSpec("P")

CONTROL_S = 5.0
"""How long attaching and detaching wait for the control thread, which does both."""

_hosts: "list[ControlHost | ShellHost]" = []


def _on_control(fn: Callable[P, T]) -> Callable[P, T]:
    """Call a function on the control thread, where requests, attaching and detaching take turns.

    An interrupt of the caller does not interrupt it.
    """

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        control = getattr(_kernel(), "control_thread", None)
        if control is None or not control.is_alive() or threading.get_ident() == control.ident:
            return fn(*args, **kwargs)
        outcome: Future[T] = Future()

        def complete() -> None:
            try:
                outcome.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001  it is raised again in the caller
                outcome.set_exception(error)

        control.io_loop.add_callback(complete)
        try:
            return outcome.result(CONTROL_S)
        except TimeoutError:
            raise KernelError(
                "kernel_unresponsive",
                f"The kernel's control thread has been busy for {CONTROL_S:g} s; the request is "
                "done as soon as it is free.",
            ) from None

    return call


@_on_control
def attach() -> Greeting:
    """Allow agents in this kernel until `detach`, as the person; return the greeting.

    KernelError `unsupported_kernel` where no host can run, `kernel_unresponsive` after 5 s.
    """
    host = _host()
    CLIENTS.allow()
    return host.greeting()


@_on_control
def detach() -> bool:
    """Remove the host and all hooks, as the person; False if nothing was installed.

    Agents are refused until the next `attach`.
    """
    CLIENTS.refuse()
    return end("the person took repl_pair out of this kernel")


@_on_control
def end(why: str) -> bool:
    """Remove the host and all hooks; False if nothing was installed."""
    OWN_CALLS.end()
    was_installed = _take_out(why)
    capture.uninstall()
    PRIVATE.close_idle()
    close_project()
    return was_installed


def interrupt() -> None:
    """Stop the agent's run that has the main lane, as the person; the process gets no signal."""
    for one in _hosts:
        one.host.interrupt()


def is_attached() -> bool:
    """Return whether this kernel answers agents."""
    return bool(_hosts)


@_on_control
def admit(client: Mapping[str, Any]) -> Reply:
    """Attach one client; the reply carries a greeting, or a refusal."""
    known = Client.from_wire(client)
    with short_switch_interval():
        CLIENTS.present()
        try:
            CLIENTS.add(known)
            is_new, host = not _hosts, _host()
            if is_new and isinstance(host, ControlHost):
                host.turns.shorten_beside_cell()
            return ok_reply(host.greeting())
        except KernelError as error:
            CLIENTS.remove(known.id)
            return error_reply(error)


@_on_control
def release(client_id: str) -> int:
    """Detach one client, the last one with the host and all hooks; return how many remain."""
    CLIENTS.remove(client_id)
    remaining = len(CLIENTS.present())
    _close_if_unused()
    return remaining


def _close_if_unused() -> None:
    OWN_CALLS.keep_only(CLIENTS.owners())
    if CLIENTS.is_unused():
        _take_out("the last client of this kernel left")


def _host() -> "ControlHost | ShellHost":
    if _hosts:
        return _hosts[0]
    find_project()  # where a cell changes the folder later, agents stay in this project
    kernel = _kernel()
    missing = [name for name in NEEDED if getattr(kernel, name, None) is None]
    if not missing:
        _hosts.append(
            ControlHost(kernel, admit=admit, release=release, close_if_unused=_close_if_unused)
        )
    else:
        # Needed only in kernels that are not a recent ipykernel.
        from repl_pair.runtime.kernel.shell_host import ShellHost

        kind = f"{type(kernel).__module__}.{type(kernel).__name__}"
        why = f"this kernel ({kind}) lacks {', '.join(missing)}: requests wait behind cells"
        _hosts.append(ShellHost(kernel_shell(), why, release))
    return _hosts[0]


def _take_out(why: str) -> bool:
    CLIENTS.forget()
    if not _hosts:
        return False
    _hosts.pop().take_out(why)
    return True


def _kernel() -> Any:
    kernel = getattr(kernel_shell(), "kernel", None)
    if kernel is None:
        raise KernelError(
            "unsupported_kernel",
            "This process has no Jupyter kernel; repl_pair.embed() starts one in it.",
        )
    if type(kernel).__module__.startswith("ipykernel.inprocess."):
        raise KernelError(
            "unsupported_kernel",
            "This kernel is in the process of its front end and has no connection file: no agent "
            "can reach it.",
        )
    return kernel
