"""Programs run on repos: bounded in time, without prompts, hooks or programs of the repo."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from repl_pair.records import record

READ_S, CHECKOUT_S = 10.0, 40.0
_OF_REPO = ("local", "worktree")
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "submodule.recurse": "false",
}
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ASKPASS": "true",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch, by a program of its own settings
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "NO_COLOR": "1",
    "LC_ALL": "C",
}


@record
class ProgramResult:
    """How a program ended; `why` is empty where it did what was asked."""

    out: str
    why: str
    was_killed: bool = False
    """Whether it could not end what it had begun."""

    @property
    def succeeded(self) -> bool:
        """Return whether it did what was asked."""
        return not self.why


def run_git(
    folder: Path,
    *words: str,
    timeout_s: float = READ_S,
    settings: Mapping[str, str] | None = None,
    sent: str = "",
) -> ProgramResult:
    """Run git on a folder; `settings` win over those of the repo, `sent` is its input."""
    given = _SETTINGS | dict(settings or {})
    environment = {"GIT_CONFIG_COUNT": str(len(given))}
    for n, (name, value) in enumerate(given.items()):
        environment |= {f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value}
    return run_program(["git", *words], folder, timeout_s, environment, sent)


def run_program(
    words: list[str],
    folder: Path,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    sent: str = "",
) -> ProgramResult:
    """Run a program in a folder, at most so long; no signal of the person reaches it."""
    program = Path(words[0]).name
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**kept, **_ENVIRONMENT, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return ProgramResult(out="", why=f"{program} cannot be run: {error}.")
    with process:
        try:
            out, err = process.communicate(sent.encode(), timeout=timeout_s)
        except BaseException as error:
            _kill(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            why = f"{program} did not end in {timeout_s:g} s."
            return ProgramResult(out="", why=why, was_killed=True)
    why = "" if process.returncode == 0 else _reason(err.decode(errors="replace"))
    if was_killed := process.returncode < 0:
        why = f"{program} was ended by signal {-process.returncode}."
    return ProgramResult(out=out.decode(errors="replace"), why=why, was_killed=was_killed)


def local_filters(folder: Path) -> dict[str, str]:
    """Return settings that turn off the programs that the repo itself filters its files with."""
    words = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    parts = run_git(folder, *words).out.split("\0")
    own = [n for scope, n in zip(parts[::2], parts[1::2], strict=False) if scope in _OF_REPO]
    return {name: "false" if name.endswith(".required") else "" for name in own}


def _reason(text: str) -> str:
    """Return the line of a program's errors that states why it failed."""
    lines = text.strip().splitlines() or ["it failed without a reason"]
    return next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it started, which might hold its output open."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
