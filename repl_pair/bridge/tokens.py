"""The tokens by which agents come over HTTP: a file each, which holds the token's hash only."""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from repl_pair.bridge.policy import Policy
from repl_pair.errors import RequestError, did_you_mean

FOLDER = "REPL_PAIR_CONFIG_DIR"
"""The variable that names another folder than the user's own for programs' settings."""
PREFIX = "rpt_"
"""How each token begins, so that programs that look for secrets find it."""
_VERSION = 1
_LISTS = ("allow", "ask", "toolsets", "kernels")


@dataclass(frozen=True, kw_only=True)
class Token:
    """Who comes with a token, and what they may do; `sha256` is the hash of the token, in hex.

    Without `kernels` there are all that the server has.
    """

    name: str
    sha256: str
    tier: str | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    added: float = 0.0

    def policy(self) -> Policy:
        """Return what the token opens."""
        return Policy(
            allow=frozenset(self.allow),
            ask=frozenset(self.ask),
            toolsets=frozenset(self.toolsets),
            tier=self.tier,
        )


class Tokens:
    """The tokens of a folder, read anew whenever one of its files changed.

    Each is a file of its own, so that two programs that add one at a time lose none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or config_folder() / "tokens"
        self._read: dict[str, tuple[tuple[int, ...], Token]] = {}

    def list(self) -> Sequence[Token]:
        """Return all tokens, sorted by name; `unreadable` names a file that holds none."""
        found: dict[str, tuple[tuple[int, ...], Token]] = {}
        try:
            entries = [each for each in os.scandir(self.folder) if each.name.endswith(".json")]
        except FileNotFoundError:
            entries = []
        for entry in entries:
            try:
                status = entry.stat()
            except FileNotFoundError:  # it was removed meanwhile
                continue
            mark = (status.st_mtime_ns, status.st_ino, status.st_size)
            known = self._read.get(entry.name)
            fresh = known is not None and known[0] == mark
            found[entry.name] = known if fresh and known else (mark, _parse(Path(entry.path)))
        self._read = found
        return sorted((token for _, token in found.values()), key=lambda token: token.name)

    def find(self, given: str) -> Token | None:
        """Return what a token opens; it takes as long for a wrong one as for a right one."""
        digest, found = _digest(given), None
        for token in self.list():
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found

    def add(self, name: str, **opens: Any) -> str:
        """Make a token and return it, the only time that it is seen; `bad_arguments` for a taken
        name.
        """
        made = PREFIX + secrets.token_urlsafe(32)
        token = Token(name=name, sha256=_digest(made), added=round(time.time(), 3), **opens)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = self.folder / f".{name}-{secrets.token_hex(4)}"
        try:
            with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"version": _VERSION, **asdict(token)}, file, indent=1)
            os.link(whole, self._file(name))
        except FileExistsError:
            raise RequestError(
                "bad_arguments",
                f"There is a token {name!r} already; a token is seen only when it is made.",
                hints=[f"repl-pair token remove {name}", "Or choose another name."],
            ) from None
        finally:
            whole.unlink(missing_ok=True)
        return made

    def remove(self, name: str) -> None:
        """Remove a token: from now on it opens nothing; `not_found` with the nearest name."""
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            names = [path.stem for path in self.folder.glob("*.json")]
            raise RequestError(
                "not_found",
                f"There is no token {name!r}.{did_you_mean(name, names)}",
                hints=["repl-pair token list"],
            ) from None

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def config_folder() -> Path:
    """Return the folder where the person's settings of repl_pair stand; it need not exist."""
    given = os.environ.get(FOLDER)
    return Path(given) if given else platformdirs.user_config_path("repl-pair")


def _digest(token: str) -> str:
    # Not a password's hash: 256 random bits cannot be guessed from a fast one either.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _parse(path: Path) -> Token:
    try:
        data: Mapping[str, Any] = json.loads(path.read_bytes())
        slots = {name: value for name, value in data.items() if name != "version"}
        slots |= {name: tuple(slots[name]) for name in _LISTS}
        token = Token(**slots)
        if data["version"] != _VERSION or token.name != path.stem or len(token.sha256) != 64:
            raise ValueError("it is of another version or name")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RequestError(
            "unreadable",
            f"{path} holds no token that this version reads ({type(error).__name__}).",
            hints=[f"Remove the file, then `repl-pair token add {path.stem}`."],
        ) from error
    return token
