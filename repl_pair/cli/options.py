"""The options that commands share: which kernel, and what may be done there."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import NAMED, Policy, parse_words
from repl_pair.errors import RequestError
from repl_pair.runtime.project.root import find_root
from repl_pair.wire import AGENT, PERSON

if TYPE_CHECKING:
    from repl_pair.bridge.session import Session
    from repl_pair.runtime.kernel.lanes import LocalLanes


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the person chose on the command line."""

    kernel: str | None = None
    kernels: tuple[str, ...] = ()
    here: bool = False
    needs_stories: bool = True
    """Whether `--here` refuses a project without a file of stories."""
    inject: bool = False
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    tier: str | None = None
    expose_all: bool = False
    as_json: bool = False
    ask_wait_s: float | None = None
    ask_expires_s: float | None = None
    agent: str | None = None


def session_options(
    *,
    as_json: bool = True,
    here: bool = True,
    inject: bool = True,
    gates: bool = True,
    exposes: bool = True,
    several_kernels: bool = False,
    approvals: bool = False,
    named: bool = False,
    needs_stories: bool = True,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the shared options to a command, which gets them as its argument `choice`.

    A command without the option for JSON prints nothing else. With `several_kernels` the option of
    the kernel may be given several times.
    """
    wanted = {
        _KERNELS if several_kernels else _KERNEL: True,
        _HERE: here,
        _INJECT: inject,
        _AS: named,
        **dict.fromkeys(_GATES, gates),
        _EXPOSE_ALL: gates and exposes,
        **dict.fromkeys(_APPROVALS, approvals),
        _AS_JSON: as_json,
    }
    options = [option for option, is_wanted in wanted.items() if is_wanted]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_choice(**given: Any) -> None:
            chosen: dict[str, Any] = {"as_json": True, "needs_stories": needs_stories}
            chosen |= {name: given.pop(name) for name in _NAMES & given.keys()}
            command(choice=Choice(**chosen), **given)

        decorated: Callable[..., None] = with_choice
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_NAMES = frozenset(Choice.__dataclass_fields__)
_KERNEL = click.option(
    "--kernel",
    metavar="X",
    help="Connection file, kernel id, pid, notebook path or name of an embedded kernel.",
)
_KERNELS = click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="X",
    help="Connection file, kernel id, pid, notebook path or name of an embedded kernel. Once "
    "or more: no other kernel exists for the agent.",
)
_HERE = click.option(
    "--here", is_flag=True, help="Load this project's stories; no kernel is asked."
)
_INJECT = click.option(
    "--inject", is_flag=True, help="Ship the runtime to a kernel whose Python lacks the package."
)
_AS = click.option(
    "--as",
    "agent",
    metavar="NAME",
    help="The agent's name: what it registers, watches and tries belongs to that name.",
)
_words = partial(click.option, metavar="A,B", multiple=True)
_GATES = (
    _words("--allow", help="Open inspect, write or eval."),
    _words("--ask", help="Open them, or mutates, call by call: you approve or deny each."),
    _words("--toolsets", help="Toolsets beside the default ones."),
    click.option("--tier", metavar="T", help="Only what is registered for exactly this tier."),
)
_EXPOSE_ALL = click.option(
    "--expose-all",
    is_flag=True,
    help="Development: agents see all members and functions of your app, exposed or not.",
)
_APPROVALS = (
    click.option(
        "--ask-wait",
        "ask_wait_s",
        type=click.FloatRange(0, 50),
        metavar="S",
        help="How long a call waits for your approval; then the agent reads the answer later. [20]",
    ),
    click.option(
        "--ask-expire",
        "ask_expires_s",
        type=click.FloatRange(0, 600),
        metavar="S",
        help="How long you may take to approve. [600]",
    ),
)
_AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print each reply's whole envelope, one a line."
)


def open_session(
    choice: Choice,
    *,
    principal: str = PERSON,
    without: frozenset[str] = frozenset(),
    lanes: "LocalLanes | None" = None,
) -> "Session":
    """Return the session that the options ask for; `--here` executes the project's story files.

    What these files print goes to stderr. Approvals exist only in a kernel of another process.
    `without` are ops that there are not; those of `--here` run in `lanes`. RequestError
    `bad_arguments` for `--here` and a kernel.
    """
    # 0.1 s of sockets that `--help` does not need.
    from repl_pair.bridge import approval_calls, session

    policy = replace(make_policy(choice), without=without)
    if not choice.here:
        waits = {"wait_s": choice.ask_wait_s, "expires_s": choice.ask_expires_s}
        approvals = None if principal == PERSON else approval_calls.ApprovalCalls(**waits)
        return session.Session(
            policy,
            choice.kernels or choice.kernel,
            principal=principal,
            inject=choice.inject,
            approvals=approvals,
            # A host starts an agent's server anywhere; the person stands in their project.
            root=find_root(Path.cwd()) if principal == PERSON else None,
        )
    if choice.kernel is not None or choice.kernels or choice.inject:
        raise RequestError("bad_arguments", "--here asks no kernel: leave one of the two out.")
    from repl_pair.cli.project_code import load_project  # what no server needs

    load_project(needs_stories=choice.needs_stories)
    return session.Session.direct(policy, principal=principal, lanes=lanes)


def agent_name(choice: Choice) -> str:
    """Return the name that an agent's server goes by; `bad_arguments` for what is no name."""
    return AGENT if choice.agent is None else check_agent_name(choice.agent, "--as")


def check_agent_name(name: str, where: str) -> str:
    """Return what may name an agent; `bad_arguments` for the person's name and what is no name."""
    if name == PERSON or not NAME.fullmatch(name):
        why = f"{PERSON!r} is you" if name == PERSON else f"{name!r} is not a name for an agent"
        raise RequestError(
            "bad_arguments",
            f"{why}: {where} takes lower-case letters, digits, - and _, at most 32, and a letter "
            "or digit first.",
            hints=["--as claude"] if where == "--as" else (),
        )
    return name


def make_policy(choice: Choice) -> Policy:
    """Read the gates, toolsets and what is seen; `bad_arguments` for words that do not exist."""
    toolsets = sorted({entry["toolset"] for entry in manifest.load()})
    return Policy(
        allow=parse_words(",".join(choice.allow), "access", NAMED),
        ask=parse_words(",".join(choice.ask), "access", NAMED),
        toolsets=parse_words(",".join(choice.toolsets), "toolset", toolsets),
        tier=choice.tier,
        expose_all=choice.expose_all,
    )


def parse_json(text: str, what: str, example: str = """--override 'tier="GOLD"'""") -> Any:
    """Read JSON from the command line; `bad_arguments` shows how text is quoted."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise RequestError(
            "bad_arguments",
            f"{what} takes JSON; {text!r} is not JSON ({error}). A text needs quotes of its own, "
            f"as in {example}.",
        ) from error


def parse_map(text: str, what: str, example: str = "") -> dict[str, Any]:
    """Read a JSON object from the command line; `bad_arguments` for anything else."""
    found = parse_json(text, what, *filter(None, [example]))
    if not isinstance(found, dict):
        raise RequestError("bad_arguments", f"{what} takes a JSON object, not {text!r}.")
    return cast("dict[str, Any]", found)


def parse_pairs(pairs: Sequence[str], option: str) -> Mapping[str, Any]:
    """Read `name=JSON` pairs; `bad_arguments` for a name that comes twice."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name or name in found:
            raise RequestError(
                "bad_arguments", f"{option} takes name=JSON, each name once, not {pair!r}."
            )
        found[name] = parse_json(text, f"{option} {name}")
    return found
