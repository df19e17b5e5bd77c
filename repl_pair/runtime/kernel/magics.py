"""What the person types in a notebook: `%load_ext repl_pair`, then `%pair`."""

import os
import shlex
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

from repl_pair.errors import ReplPairError, did_you_mean
from repl_pair.records import Undo
from repl_pair.runtime.clients import clients
from repl_pair.runtime.clients.clients import ATTACHED, CLIENTS
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.kernel import attach as hosting
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.results.markdown import Markdown
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.runtime.sweeps.watching import WATCHES
from repl_pair.version import VERSION

_LOADED: list[Undo] = []


def load_ipython_extension(shell: Any) -> None:
    """Add the `%pair` magic and begin to follow cells."""
    shell.register_magic_function(pair, "line", "pair")
    _LOADED.append(CELLS.track())


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magic and everything else; no agent gets in before `%pair attach`."""
    lines: dict[str, Any] = shell.magics_manager.magics["line"]
    if lines.get("pair") is pair:  # the person may have made another one of that name
        del lines["pair"]
    try:
        if getattr(shell, "kernel", None) is not None:
            hosting.detach()
    finally:
        while _LOADED:
            _LOADED.pop()()


def pair(line: str) -> Any:
    """`%pair status | attach | load [folder] | panels [id] | pause | resume | detach`."""
    try:
        command, *rest = shlex.split(line) or ["status"]
    except ValueError as error:  # a quote without its end
        command, rest = line, [str(error)]
    if command not in COMMANDS:
        answer = f"%pair {command}: unknown.{did_you_mean(command, COMMANDS)} {pair.__doc__}"
    elif len(rest) > len(signature(COMMANDS[command]).parameters):
        answer = f"%pair {command} does not take {rest[-1]!r}. {pair.__doc__}"
    else:
        try:
            answer = COMMANDS[command](*rest)
        except ReplPairError as error:
            answer = f"{error.code}: {error.message}"
    if not isinstance(answer, str) or isinstance(answer, Markdown):
        return answer
    print(answer)  # noqa: T201  a magic answers by printing
    return None


def status() -> str:
    """Describe what is registered, whether the kernel answers agents, and which are attached."""
    plurals = {"story": "stories", "variant": "variants", "mode": "modes"}
    counts = ", ".join(f"{word}: {len(REGISTRY.ids(kind))}" for kind, word in plurals.items())
    empty = "" if REGISTRY.ids("story") else f"\n{EMPTY}"
    if not hosting.is_attached():
        attached = f"not attached{', and no agent gets in' * CLIENTS.is_refused()}: %pair attach"
    elif clients.paused_since() is None:
        names = sorted(
            {client.principal for client in PERSON_STORE.snapshot(ATTACHED.name).values()}
        )
        watched = {name: ", ".join(WATCHES.owned(name)) for name in names}
        agents = (f"{name} (watches {what})" if what else name for name, what in watched.items())
        attached = f"attached{': ' * bool(names)}{', '.join(agents)}"
    else:
        attached = "attached, and agents are paused: %pair resume"
    return f"repl_pair {VERSION}, {attached}. {counts}{empty}"


def attach() -> str:
    """Make this kernel answer agents until `detach`, and print the line to give to one."""
    hosting.attach()
    app = getattr(getattr(kernel_shell(), "kernel", None), "parent", None)
    file = str(getattr(app, "abs_connection_file", None) or os.getpid())
    start = f"{sys.executable} -m repl_pair mcp"
    if getattr(__loader__, "injected", False):  # this Python does not have the package
        start = "repl-pair mcp --inject"
    return (
        "This kernel answers now. Give this line to your agent as an MCP server (stdio):\n"
        f"    {start} --kernel {shlex.quote(file)}"
    )


def load(folder: str = ".") -> str:
    """Load the project's story files."""
    from repl_pair.runtime.loading.load import load_stories  # configparser and TOML, for this alone

    files = load_stories(Path(folder).resolve())
    return f"Loaded {', '.join(os.path.relpath(file) for file in files)}. {status()}"


def panels(id: str | None = None) -> Any:
    """Show the panels, as `repl_pair.show` does."""
    # The runtime is the layer below the panels and must not import them.
    return sys.modules[__name__.partition(".")[0]].show(id)


def detach() -> str:
    """Remove repl_pair from this kernel, and refuse agents until `attach`."""
    done = "Detached." if hosting.detach() else "Nothing was attached."
    return f"{done} No agent gets in before `%pair attach`."


def pause() -> str:
    """Refuse every request of agents; runs in progress continue."""
    clients.pause()
    return "Agents are paused: nothing they ask is read or run before `%pair resume`."


def resume() -> str:
    """Accept requests of agents again."""
    clients.resume()
    return "Agents go on."


COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command for command in (attach, detach, load, panels, pause, resume, status)
}
