"""Two repos agree on a contract: a change is refused, raised as a version, and noticed by an agent.

It makes its repos and the realm in a folder of its own, and needs git. Exits with 1 if anything is
not as it should be.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters

QUOTE = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
IN_CENTS = {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]}
"""What the owner would like to answer instead: who reads `total` breaks."""
STORIES = """
import repl_pair as rp
rp.story("app.show", component=lambda quote: f"{quote['total']:.2f} EUR")
rp.variant("app.show/Plain", args={"quote": {"total": 13}})
"""


def make_repo(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


def pair(folder: Path, *words: str) -> int:
    """Run a command of repl-pair in a repo; gives its exit code."""
    return subprocess.run([sys.executable, "-m", "repl_pair", *words], cwd=folder).returncode


async def read_notices(folder: Path) -> list[str]:
    """Ask as an agent whose server works in a repo, without a kernel."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "repl_pair", "mcp", "--here"], cwd=folder
    )

    async with Client(server) as client:

        async def ask(op: str) -> dict:
            given = {"op": op, "args": {}}
            return (await client.call_tool("read_op", given)).structured_content["result"]

        await ask("realm_status")
        return [notice["text"] for notice in (await ask("notifications_list"))["items"]]


def check(root: Path) -> bool:
    api, app = make_repo(root / "api"), make_repo(root / "app")
    schema = api / "quote.json"
    schema.write_text(json.dumps(QUOTE))
    pair(root, "realm", "init", "shop", "realm")
    for repo in (api, app):
        pair(repo, "realm", "join", "../realm")
    pair(api, "realm", "save", "pricing", "quote", "--version", "1.0.0", "--schema", "quote.json")
    pair(api, "realm", "bind", "pricing", "--role", "provider", "--export", "quote")
    pair(app, "realm", "bind", "pricing", "--role", "consumer", "--import", "quote >=1.0,<2")
    (app / "stories_app.py").write_text(STORIES)
    agreed = pair(app, "realm", "check", "--strict")
    asyncio.run(read_notices(app))

    schema.write_text(json.dumps(IN_CENTS))
    save = ("realm", "save", "pricing", "quote", "--schema", "quote.json")
    same_version = pair(api, *save, "--version", "1.0.0")
    by_another = pair(app, *save[:-1], str(schema), "--version", "2.0.0")
    raised = pair(api, *save, "--version", "2.0.0", "--changes", "In cents.", "--incompatible")
    unmet = pair(app, "realm", "check", "--strict")
    noticed = asyncio.run(read_notices(app))
    print("noticed:", noticed)
    pair(app, "realm", "bind", "pricing", "--import", "quote >=2.0,<3")
    mended = pair(app, "realm", "check", "--strict")
    return (
        (agreed, raised, mended) == (0, 0, 0)
        and all((same_version, by_another, unmet))
        and any("1.0.0 to 2.0.0" in text for text in noticed)
    )


with tempfile.TemporaryDirectory() as folder:
    sys.exit(0 if check(Path(folder)) else 1)
