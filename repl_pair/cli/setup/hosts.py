"""The hosts that start MCP servers: the file of each, and one more entry put into it."""

import difflib
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from repl_pair.cli.setup import jsonc
from repl_pair.errors import RequestError

Scope: TypeAlias = Literal["project", "user"]
Entry: TypeAlias = Mapping[str, Any]


def _insert_toml(text: str, key: str, name: str, entry: Entry) -> str:
    """Append the table `key.name`; the text before it stays as it is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{key}.{name}]", *(f"{slot} = {_toml(value)}" for slot, value in entry.items())]
    gap = newline if text.endswith("\n") else newline * 2
    return text + (gap if text.strip() else "") + newline.join([*lines, ""])


def _toml(value: Any) -> str:
    """Write text, a list of texts or a mapping of texts; JSON quotes text as TOML does."""
    if isinstance(value, Mapping):
        pairs: Mapping[str, str] = value  # pyright: ignore[reportUnknownVariableType]  env
        return "{ " + ", ".join(f"{name} = {_toml(text)}" for name, text in pairs.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Host:
    """A program that starts MCP servers; its entries stand under `key`.

    `insert` returns a file's text with one more entry, unchanged otherwise; it and `parse` raise
    ValueError for a text of another format, `insert` also where the entry has no place.
    """

    title: str
    key: str
    project: str
    user: Callable[[], Path]
    parse: Callable[[str], Mapping[str, Any]] = jsonc.parse
    insert: Callable[[str, str, str, Entry], str] = jsonc.insert
    fixed: Entry = field(default_factory=lambda: {"type": "stdio"})
    usual: Scope = "project"
    notes: Mapping[Scope, str] = field(default_factory=dict[Scope, str])
    remote: Callable[[str], Entry] = lambda url: _remote(url, f"${{env:{TOKEN}}}", type="http")
    """The entry of a server that runs already, at a URL; its token stands in a variable."""
    remote_note: str = ""
    """What is not certain of that entry."""

    def file(self, scope: Scope) -> Path:
        """Return the file of a scope; a project is the working directory."""
        return self.user() if scope == "user" else Path.cwd() / self.project


TOKEN = "REPL_PAIR_TOKEN"
"""The variable from which hosts take the token of a server over HTTP."""


URL = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?/[A-Za-z0-9._~/-]*")
"""Where a server over HTTP may be; nothing secret has a place in it."""


def _remote(url: str, variable: str, **fixed: str) -> Entry:
    return {**fixed, "url": url, "headers": {"Authorization": f"Bearer {variable}"}}


def _vscode_file() -> Path:
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "Code" / "User" / "mcp.json"


HOSTS: Mapping[str, Host] = {
    "claude": Host(
        title="Claude Code",
        key="mcpServers",
        project=".mcp.json",
        user=lambda: Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json",
        notes={"user": "Claude Code itself keeps writing this file: end its sessions before."},
        remote=lambda url: _remote(url, f"${{{TOKEN}}}", type="http"),
    ),
    "cursor": Host(
        title="Cursor",
        key="mcpServers",
        project=".cursor/mcp.json",
        user=lambda: Path.home() / ".cursor" / "mcp.json",
        remote=lambda url: _remote(url, f"${{env:{TOKEN}}}"),
    ),
    "vscode": Host(
        title="VS Code",
        key="servers",
        project=".vscode/mcp.json",
        user=_vscode_file,
        remote_note="Versions of VS Code that leave ${env:…} in a header as it stands get a 401: "
        'write "Bearer ${input:repl-pair}" there, and beside "servers" "inputs": [{"type": '
        '"promptString", "id": "repl-pair", "description": "token", "password": true}]; it asks '
        "for the token, once.",
    ),
    "codex": Host(
        title="Codex",
        key="mcp_servers",
        project=".codex/config.toml",
        user=lambda: Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml",
        parse=tomllib.loads,
        insert=_insert_toml,
        fixed={},
        usual="user",
        notes={"project": "Codex reads it in a project that it was told to trust."},
        remote=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
    ),
}


HIDDEN = "…"
_PLAIN = ("type", "command", "cwd", "bearer_token_env_var")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A file's content before and with the entry; `after` is None if the entry is there."""

    path: Path
    before: bytes | None
    after: bytes | None


def plan(host: Host, path: Path, name: str, entry: Entry) -> Change:
    """Look at the file and plan the entry's place; changes nothing.

    `bad_arguments` if another entry has that name; `unreadable` if the file is none of the host's
    language, or cannot take the entry without a loss.
    """
    before = _read(path)
    try:
        text = (before or b"").decode()
        held = host.parse(text)
        servers = held.get(host.key, {})
        if name in servers:
            _compare(path, name, servers[name], entry)
            return Change(path=path, before=before, after=None)
        after = host.insert(text, host.key, name, entry)
        if host.parse(after) != {**held, host.key: {**servers, name: entry}}:
            raise ValueError("the entry has no place in it")
        return Change(path=path, before=before, after=after.encode())
    except (ValueError, TypeError) as error:
        raise RequestError(
            "unreadable",
            f"{path} cannot take the entry as it stands: {error}. It was left as it is; put the "
            f"entry under {host.key!r} by hand.",
        ) from error


def carry_out(change: Change) -> None:
    """Put the planned content into the file's place at once; mode, owner and links are kept.

    `cannot_run` where that is not possible; the file is then as it was.
    """
    target = Path(os.path.realpath(change.path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, change)
    except OSError as error:
        raise RequestError(
            "cannot_run", f"{change.path} could not be written: {error.strerror}. Nothing changed."
        ) from error


def _replace(target: Path, change: Change) -> None:
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(number, "wb") as made:
            made.write(change.after or b"")
        _take_after(Path(name), target, fresh=change.before is None)
        if _read(target) != change.before:
            raise RequestError("cannot_run", f"{change.path} was changed meanwhile. Do it again.")
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _take_after(made: Path, target: Path, *, fresh: bool) -> None:
    if fresh:
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o666 & ~mask)
        return
    shutil.copymode(target, made)
    new, old = made.stat(), target.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.chown(made, old.st_uid, old.st_gid)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RequestError("unreadable", f"{path} cannot be read: {error.strerror}.") from error


def _compare(path: Path, name: str, present: Any, wanted: Entry) -> None:
    held = cast("Entry", present) if isinstance(present, Mapping) else None
    if held is not None and _meaning(held) == _meaning(wanted):
        return
    before = [HIDDEN] if held is None else _show(held)
    lines = difflib.unified_diff(
        before, _show(wanted), f"{name}, in the file", f"{name}, as asked", lineterm=""
    )
    old, new = _own_url(held or {}), _own_url(wanted)
    where = f", at {old}; {new} was asked for" if old and new else ""
    mended = f"write {new} into {name!r}" if where else f"take {name!r} out of the file"
    raise RequestError(
        "bad_arguments",
        f"{path} has another server named {name!r}{where}. It was left as it is.",
        detail={"diff": "\n".join(lines)},
        hints=["the same with --name OTHER", f"or {mended} by hand"],
    )


def _own_url(entry: Entry) -> str | None:
    """Return the URL of an entry for a server of this package over HTTP, else None."""
    url = str(entry.get("url"))
    return url if TOKEN in json.dumps(entry, default=str) and URL.fullmatch(url) else None


def _meaning(entry: Entry) -> Entry:
    """Return an entry without the usual type and empty slots, which mean nothing."""
    return {s: v for s, v in entry.items() if v not in ({}, []) and (s, v) != ("type", "stdio")}


def _show(entry: Entry) -> list[str]:
    """Write an entry, one line for each slot; values that may be secret are hidden."""
    shown = (*_PLAIN, "args") if "repl_pair" in entry.get("args", ()) else _PLAIN
    shown += ("url",) if _own_url(entry) else ()
    return [f"{s}: {json.dumps(v) if s in shown else HIDDEN}" for s, v in entry.items()]
