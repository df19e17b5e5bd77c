"""The command that shows what an agent sees of what the app publishes."""

from collections.abc import Mapping
from typing import Any

import click

from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.tables import show_page


@click.command()
@click.argument("id", required=False)
@click.option("--tier", "of_tier", metavar="T", help="As a server with this --tier.")
@click.option("--expose-all", "all_exposed", is_flag=True, help="As a server with --expose-all.")
@session_command(gates=False)
async def expose(caller: Caller, id: str | None, of_tier: str | None, all_exposed: bool) -> int:
    """Show what an agent sees of your surfaces, members and functions, and why not the rest.

    ID is one of them; a surface comes with all that stands on it. Nothing is exposed by this:
    that is done where it is defined, with expose=True or .expose(...).
    """
    args = {"id": id, "tier": of_tier, "expose_all": all_exposed}
    return caller.print(await caller.session.command("list_exposure", args), _show_exposures)


def _show_exposures(page: Mapping[str, Any]) -> None:
    rows = [
        {
            "id": item["id"],
            "kind": item["kind"],
            "seen": item["seen"],
            "tool": item.get("tool"),
            "registered": f"{item['registered']['where']}:{item['registered']['line']}",
            "why not": item.get("why"),
        }
        for item in page["items"]
    ]
    show_page({**page, "items": rows})
