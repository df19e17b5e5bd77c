"""The tokens by which agents come over HTTP: a file each, which holds the token's hash only."""

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from repl_pair.bridge import manifest
from repl_pair.bridge.kernel_info import check_name
from repl_pair.bridge.policy import NAMED, Policy
from repl_pair.errors import ReplPairError, RequestError, did_you_mean
from repl_pair.wire import PERSON

FOLDER = "REPL_PAIR_CONFIG_DIR"
"""The variable that names another folder than the user's own for programs' settings."""
PREFIX = "rpt_"
"""How each token begins, so that programs that look for secrets find it."""
_VERSION = 1
_DIGEST = re.compile("[0-9a-f]{64}")
_LISTS = ("allow", "ask", "toolsets", "kernels")
_SLOTS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "sha256"), str),
    **dict.fromkeys(_LISTS, list),
    "tier": str | None,
    "added": int | float,
}
"""What a file holds beside its version, each with its type."""


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

    Each is a file of its own, so that two programs that add one at a time lose none, and a file
    that holds none costs its agent only: `faults` names those of the last `list`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or config_folder() / "tokens"
        self.faults: Sequence[RequestError] = ()
        self._read: dict[str, tuple[tuple[int, ...], Token | RequestError]] = {}

    def list(self) -> Sequence[Token]:
        """Return all tokens, sorted by name; a file that others may change holds none."""
        try:
            self._read = self._read_changed()
        except RequestError as error:
            self._read, self.faults = {}, (error,)
            return ()
        read = [each for _, each in self._read.values()]
        self.faults = [each for each in read if isinstance(each, RequestError)]
        return sorted((each for each in read if isinstance(each, Token)), key=lambda it: it.name)

    def _read_changed(self) -> dict[str, tuple[tuple[int, ...], Token | RequestError]]:
        found: dict[str, tuple[tuple[int, ...], Token | RequestError]] = {}
        for entry in _scan(self.folder):
            try:
                status = entry.stat(follow_symlinks=False)
                mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)
                known = self._read.get(entry.name)
                is_same = known is not None and known[0] == mark
                found[entry.name] = known if is_same and known else (mark, _read(entry, status))
            except FileNotFoundError:  # it was removed meanwhile
                continue
        return found

    def find(self, given: str) -> Token | None:
        """Return what a token opens; it takes as long for a wrong one as for a right one."""
        digest, found = _digest(given), None
        for token in self.list():
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found

    def add(self, name: str, **opens: Any) -> str:
        """Make a token and return it, the only time that it is seen.

        `bad_arguments` for a taken name, `cannot_run` where the folder takes no file.
        """
        made = PREFIX + secrets.token_urlsafe(32)
        token = Token(name=name, sha256=_digest(made), added=round(time.time(), 3), **opens)
        try:
            for folder in (self.folder.parent, self.folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _scan(self.folder)
            self._write(token)
        except FileExistsError:
            raise RequestError(
                "bad_arguments",
                f"There is a token {name!r} already; a token is seen only when it is made.",
                hints=[f"repl-pair token remove {name}", "Or choose another name."],
            ) from None
        except OSError as error:
            words = f"{self.folder} does not take the token: {error.strerror}. Nothing was added."
            raise ReplPairError("cannot_run", words) from error
        return made

    def _write(self, token: Token) -> None:
        whole = self.folder / f".{token.name}-{secrets.token_hex(4)}"
        try:
            with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"version": _VERSION, **asdict(token)}, file, indent=1)
            os.link(whole, self._file(token.name))
        finally:
            whole.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a token: from now on it opens nothing; `not_found`, or `cannot_run`."""
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            names = [path.stem for path in self.folder.glob("*.json")]
            raise RequestError(
                "not_found",
                f"There is no token {name!r}.{did_you_mean(name, names)}",
                hints=["repl-pair token list"],
            ) from None
        except OSError as error:
            words = f"{self._file(name)} cannot be removed: {error.strerror}."
            raise ReplPairError("cannot_run", words) from error

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def config_folder() -> Path:
    """Return the folder where the person's settings of repl_pair stand; it need not exist."""
    given = os.environ.get(FOLDER)
    return Path(given) if given else platformdirs.user_config_path("repl-pair")


def _digest(token: str) -> str:
    # Not a password's hash: 256 random bits cannot be guessed from a fast one either.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _scan(folder: Path) -> Sequence["os.DirEntry[str]"]:
    """Return the files of tokens; `unreadable` where others may put files beside them."""
    try:
        if why := _describe_exposure(os.stat(folder), others=0o022):
            raise RequestError(
                "unreadable",
                f"No token of {folder} opens anything: {why}.",
                hints=[f"Make it yours alone: chmod 700 {folder}"],
            )
        return [entry for entry in os.scandir(folder) if entry.name.endswith(".json")]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RequestError("unreadable", f"{folder} cannot be read: {error.strerror}.") from error


def _describe_exposure(status: os.stat_result, *, others: int) -> str:
    """Describe how another user may change what is there, or has `others` of its mode; or empty."""
    if os.name != "posix":
        return ""
    if status.st_uid not in (os.getuid(), 0):
        return "it belongs to another user"
    mode = stat.S_IMODE(status.st_mode)
    return f"other users may read or change it (mode {mode:03o})" if mode & others else ""


def _read(entry: "os.DirEntry[str]", status: os.stat_result) -> Token | RequestError:
    """Read a token file; return a refusal if it holds no valid token."""
    path = Path(entry.path)
    remedy = f"repl-pair token remove {path.stem}, then repl-pair token add {path.stem}"
    if not stat.S_ISREG(status.st_mode):
        why, remedy = "it is a link, or not a file", f"Remove {path}."
    elif why := _describe_exposure(status, others=0o077):
        remedy = f"If nobody else changed it: chmod 600 {path}. Else {remedy}."
    else:
        try:
            return _parse(json.loads(path.read_bytes()), path.stem)
        except FileNotFoundError:
            raise
        except _NO_TOKEN as error:
            why = f"this version reads no token in it ({type(error).__name__})"
    return RequestError("unreadable", f"{path} opens nothing: {why}.", hints=[remedy])


_NO_TOKEN = (
    *(OSError, ValueError, TypeError, KeyError, AttributeError),
    *(OverflowError, RecursionError, RequestError),
)


def _parse(data: Mapping[str, Any], name: str) -> Token:
    """Read what the file of a name holds; one of `_NO_TOKEN` for what `add` would not write."""
    lists: Mapping[str, list[Any]] = {slot: data[slot] for slot in _LISTS}
    is_token = (
        set(data) == {"version", *_SLOTS}
        and all(isinstance(data[slot], kind) for slot, kind in _SLOTS.items())
        and all(isinstance(text, str) for texts in lists.values() for text in texts)
        and (data["version"], data["name"]) == (_VERSION, name)
        and _DIGEST.fullmatch(data["sha256"])
        and {*lists["allow"], *lists["ask"]} <= {*NAMED}
        and {*lists["toolsets"]} <= {entry["toolset"] for entry in manifest.load()}
        and all(map(check_name, lists["kernels"]))
        and time.localtime(data["added"])
        and name != PERSON
    )
    if not is_token:
        raise ValueError("it is of another version or name")
    made: dict[str, Any] = {slot: data[slot] for slot in _SLOTS}
    made |= {slot: tuple(texts) for slot, texts in lists.items()}
    return Token(**made)
