"""The hosts that start MCP servers: the file of each, and the form of an entry in it."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from repl_pair.cli.setup import jsonc

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
