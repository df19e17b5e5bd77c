"""One command's calls and answers: progress, replies and findings printed, exit codes."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import click

from repl_pair.bridge.suggestions import write_command
from repl_pair.cli.options import Choice, open_session, session_options
from repl_pair.cli.tables import escape
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.wire import Args, Reply, error_reply

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session


T = TypeVar("T")
Show: TypeAlias = Callable[[Any], None]
"""Prints the result of an answered call as text."""
PASS, FAIL, USAGE, NO_KERNEL = range(4)

_USAGE = frozenset(
    {"approval_unavailable", "bad_arguments", "bad_body", "bad_id", "not_found", "stale_cursor"}
)
_NO_KERNEL = frozenset(
    {
        "ambiguous_kernel",
        "kernel_gone",
        "kernel_unresponsive",
        "no_kernel",
        "package_missing",
        "unsupported_kernel",
        "version_mismatch",
    }
)


def exit_code(reply: Reply) -> int:
    """Return a command's exit code: a verdict has `status` and `total`, sent code its status."""
    if not reply["ok"]:
        code = reply["error"]["code"]
        return USAGE if code in _USAGE else NO_KERNEL if code in _NO_KERNEL else FAIL
    result = reply["result"]
    slots = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    failed = slots.get("status") in ("error", "cannot_run")
    judged = {"status", "total"} <= slots.keys()
    return FAIL if failed or (judged and slots["status"] != "pass") else PASS


def answer(reply: Reply, show: Show, *, as_json: bool, here: bool = False) -> int:
    """Print a reply, as an envelope or as text, and return the exit code.

    The next commands are with `--here` where the one that is answered was.
    """
    if as_json:
        print_json(reply)
        return exit_code(reply)
    if reply["ok"]:
        show(reply["result"])
    else:
        error = reply["error"]
        code = click.style(error["code"], fg="red", bold=True)
        click.echo(f"{code}: {escape(error['message'])}", err=True)
        steps = [write_command(step, here=here) for step in reply.get("next_steps", ())]
        for line in (*steps, *reply.get("hints", ())):
            click.echo(f"  next: {escape(line)}", err=True)
    left_out = [f"{reply[what]} {what}" for what in ("redacted", "elided") if reply.get(what)]
    for line in (*reply.get("notifications", ()), *((", ".join(left_out),) if left_out else ())):
        click.echo(escape(line), err=True)
    return exit_code(reply)


def _ignore(_reply: Reply, **_given: Any) -> None:
    pass


@contextmanager
def report_refusal(
    *, as_json: bool, here: bool = False, note: Callable[[Reply], None] = _ignore
) -> Generator[None]:
    """Print a ReplPairError of the block as the reply that it is, and end with its exit code.

    So a file that cannot be read or written, as `cannot_run`. `note` gets the reply first.
    """
    try:
        yield
        return
    except ReplPairError as error:
        reply = error_reply(error)
    except OSError as error:
        if error.filename is None and not _is_nowhere():
            raise
        what = f"{error.filename}: {error.strerror}." if error.filename else _NOWHERE
        reply = error_reply(RequestError("cannot_run", what))
    with suppress(OSError):
        note(reply)
    sys.exit(answer(reply, print, as_json=as_json, here=here))


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


_NOWHERE = "The folder that this command was started in is gone: change to one that is there."


def print_json(reply: Any) -> None:
    """Print one envelope on one line."""
    click.echo(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True)
class Finding:
    """The result of one check; `remedy` is what to do where it is not well."""

    what: str
    well: bool = True
    remedy: str = ""


def fault(what: str, remedy: str = "") -> Finding:
    """Return the finding that something is not well."""
    return Finding(what, well=False, remedy=remedy)


def print_findings(findings: Sequence[Finding], *, err: bool = False) -> None:
    """Print findings, each with its remedy below."""
    for one in findings:
        mark = click.style("ok  ", fg="green") if one.well else click.style("warn", fg="yellow")
        click.echo(f"{mark}  {escape(one.what)}", err=err)
        if one.remedy:
            click.echo(f"      {escape(one.remedy)}", err=err)


PAGE = 200
"""How many items of a list are asked for at once."""
AFTER_S = 1.0
REDRAWN_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Calls the ops of a session for one command."""

    session: "Session"
    choice: Choice

    async def call(self, op: str, args: Args) -> Reply:
        """Call an op; print progress on stderr if it takes longer than a second."""
        about = next((str(args[name]) for name in args if name.endswith("_id")), "")
        async with _show_progress(f"{op} {about}".rstrip()) as on_progress:
            return await self.session.call(op, args, on_progress=on_progress)

    async def call_all(self, op: str, args: Args) -> Reply:
        """Call an op that lists, page after page; return a reply with all items, or a refusal."""
        items: list[Any] = []
        reply = await self.call(op, {"limit": PAGE, **args})
        while reply["ok"]:
            items += reply["result"]["items"]
            cursor = reply["result"].get("cursor")
            if cursor is None:
                return {**reply, "result": {"items": items, "total": len(items)}}
            reply = await self.call(op, {"limit": PAGE, **args, "cursor": cursor})
        return reply

    async def show(self, op: str, args: Args, show: Show) -> int:
        """Call an op, print its reply and return the exit code."""
        return self.print(await self.call(op, args), show)

    def print(self, reply: Reply, show: Show) -> int:
        """Print a reply, as an envelope where JSON is asked for, and return the exit code."""
        return answer(reply, show, as_json=self.choice.as_json, here=self.choice.here)


def run_session(choice: Choice, ask: Callable[[Caller], Awaitable[T]]) -> T:
    """Return what a coroutine gives with a caller of the session that the options ask for.

    With `--here` this thread loads the project's code and runs it, as under pytest, with the
    settings of its ini file.
    """
    if not choice.here:
        return asyncio.run(_ask(open_session(choice), choice, ask))
    from repl_pair.cli.beside import run_beside  # the runtime, which no kernel's command needs
    from repl_pair.cli.project_code import own_stdout, rules_here
    from repl_pair.runtime.kernel.lanes import LocalLanes

    lanes = LocalLanes(own_thread=False)
    session = open_session(choice, lanes=lanes)
    with own_stdout(), rules_here():
        return run_beside(lanes, _ask(session, choice, ask))


async def _ask(session: "Session", choice: Choice, ask: Callable[[Caller], Awaitable[T]]) -> T:
    try:
        return await ask(Caller(session=session, choice=choice))
    finally:
        await session.close()


def session_command(
    note: Callable[..., None] = _ignore, **which: bool
) -> Callable[[Callable[..., Awaitable[int]]], Any]:
    """Make a command of a coroutine: it gets a `Caller` of the session that the options ask for.

    `which` are the arguments of `session_options`. The process ends with the exit code that the
    coroutine returns. `note` gets a refusal, and the command's own options.
    """

    def decorate(ask: Callable[..., Awaitable[int]]) -> Any:
        @session_options(**which)
        @wraps(ask)
        def command(choice: Choice, **given: Any) -> None:
            noted = partial(note, **given)
            with report_refusal(as_json=choice.as_json, here=choice.here, note=noted):
                sys.exit(run_session(choice, partial(ask, **given)))

        return command

    return decorate


@asynccontextmanager
async def _show_progress(what: str) -> AsyncGenerator[Callable[[Mapping[str, Any]], None]]:
    """Show what is waited for, once it takes longer than a second; yields a callback for progress.

    A spinner on a terminal, else a line after 1, 2, 4, … seconds.
    """
    line = [what]

    def on_progress(progress: Mapping[str, Any]) -> None:
        line[0] = escape(f"{what}: {progress.get('message', '')}")

    printing = asyncio.create_task(_print(line))
    try:
        yield on_progress
    finally:
        printing.cancel()
        await asyncio.wait([printing])


async def _print(line: list[str]) -> None:
    await asyncio.sleep(AFTER_S)
    if sys.stderr.isatty():
        from rich import console, text  # 25 ms that only a slow call on a terminal needs

        with console.Console(stderr=True).status(text.Text(line[0])) as status:
            while True:
                await asyncio.sleep(REDRAWN_S)
                status.update(text.Text(line[0]))
    pause_s = AFTER_S
    while True:
        click.echo(f"… {line[0]}", err=True)
        await asyncio.sleep(pause_s)
        pause_s *= 2
