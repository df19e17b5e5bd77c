"""Commands about remarks: their threads listed and read, and what the person does with them."""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from repl_pair.bridge.kernel_info import known_only
from repl_pair.cli.answers import FAIL, Show
from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.tables import GAP, escape, show_page, show_slots, text_of
from repl_pair.errors import count_of
from repl_pair.runtime.reading.bounded import cut_text

_HEAD_CHARS = 60
_OPEN = ("draft", "submitted", "replied", "orphaned")
_STATUSES = (*_OPEN, "resolved")
_command = session_command(gates=False, needs_stories=False)


class _Listing(click.Group):
    """A group that lists where no command of it is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args[:1] and (not args[0].startswith("-") or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["list", *args])


@click.group(cls=_Listing)
def reviews() -> None:
    """List and answer remarks on stories, variants, workspaces, notebooks and pages.

    Without a command: as `reviews list`. TARGET is one of story:ID, variant:ID, workspace:ID,
    notebook:PATH#CELL and doc:PATH#HEADING; ID is an annotation's.
    """


@reviews.command("list")
@click.option("--target", metavar="TARGET", help="Only there and on its parts.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only in this state.")
@click.option("--all", "with_resolved", is_flag=True, help="Resolved ones too.")
@_command
async def list_(caller: Caller, target: str | None, status: str | None, with_resolved: bool) -> int:
    """List the open threads, the newest first."""
    reply = await caller.call_all("list_annotations", known_only({"target": target}))
    if reply["ok"]:
        items: list[Any] = reply["result"]["items"]
        replies = Counter(one["parent_id"] for one in items)
        wanted = (status,) if status else _STATUSES if with_resolved else _OPEN
        threads = [
            {**one, "replies": replies[one["id"]]}
            for one in items
            if one["parent_id"] is None and one["status"] in wanted
        ]
        reply = {**reply, "result": {"items": threads, "total": len(threads)}}
        reply.pop("next_steps", None)
    return caller.print(reply, _show_threads)


@reviews.command()
@click.argument("target")
@click.argument("words")
@click.option("--section", metavar="S", help="Which part; of a page one of its headings.")
@click.option("--quote", metavar="Q", help="The words of the target that you speak of.")
@_command
async def add(
    caller: Caller, target: str, words: str, section: str | None, quote: str | None
) -> int:
    """Remark on a TARGET; it is a draft until `submit`."""
    more = known_only({"section": section, "quote": quote})
    args = {"target": target, "content": words, **more}
    return await caller.show("create_annotation", args, show_slots)


@reviews.command()
@click.argument("id")
@click.argument("words")
@_command
async def reply(caller: Caller, id: str, words: str) -> int:
    """Reply in the thread of a remark."""
    found = await caller.call("get_annotation", {"annotation_id": id})
    if not found["ok"]:
        return caller.print(found, show_slots)
    one: Any = found["result"]["annotation"]
    args = {"target": one["target"], "content": words, "parent_id": one["parent_id"] or one["id"]}
    return await caller.show("create_annotation", args, show_slots)


@reviews.command()
@click.argument("id")
@click.argument("words")
@_command
async def edit(caller: Caller, id: str, words: str) -> int:
    """Replace the words of a remark or reply."""
    return await caller.show("edit_annotation", {"annotation_id": id, "content": words}, show_slots)


@reviews.command()
@click.argument("target")
@click.argument("ids", nargs=-1)
@_command
async def submit(caller: Caller, target: str, ids: tuple[str, ...]) -> int:
    """Submit the drafts on a TARGET and its parts as a review, or those of these IDS."""
    args = {"target": target, **({"annotation_ids": list(ids)} if ids else {})}
    return await caller.show(
        "submit_review",
        args,
        lambda sent: click.echo(f"{sent['review_id']}{GAP}{sent['count']} submitted"),
    )


@reviews.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_command
async def delete(caller: Caller, id: str, yes: bool) -> int:
    """Delete a remark with all replies; a terminal says how many and asks before that."""
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not caller.choice.as_json
    if asks and not yes:
        found = await caller.call("get_annotation", {"annotation_id": id})
        if not found["ok"]:
            return caller.print(found, show_slots)
        count = len(found["result"]["replies"])
        replies = f" with {count_of(count, 'reply', 'replies')}" if count else ""
        click.echo(_line(found["result"]["annotation"]), err=True)
        if not click.confirm(f"Delete it{replies}?", err=True):
            click.echo("It stays.", err=True)
            return FAIL
    return await caller.show("delete_annotation", {"annotation_id": id}, show_slots)


def _show_threads(page: Mapping[str, Any]) -> None:
    rows = [
        {
            "id": one["id"],
            "status": one["status"],
            "author": one["principal"],
            "target": one["target"],
            "replies": str(one["replies"] or ""),
            "words": cut_text(" ".join(text_of(one["content"]).split()), _HEAD_CHARS),
        }
        for one in page["items"]
    ]
    show_page({"items": rows, "total": len(rows)})


def _show_thread(thread: Mapping[str, Any]) -> None:
    one = thread["annotation"]
    click.echo(_line(one))
    for name in ("target", "section", "quote", "review_id"):
        if one[name]:
            click.echo(f"{GAP}{name}: {escape(text_of(one[name]))}")
    for remark in (one, *thread["replies"]):
        if remark is not one:
            click.echo(_line(remark))
        for line in text_of(remark["content"]).split("\n"):
            click.echo(f"{GAP}{GAP}{escape(line)}")


def _line(one: Mapping[str, Any]) -> str:
    return escape(GAP.join((one["id"], one["status"], one["principal"], one["created_at"])))


def _add_command(
    name: str, doc: str, op: str, slot: str = "annotation_id", show: Show = show_slots
) -> None:
    """Add a command that calls an op with an id, and nothing else."""

    @reviews.command(name, help=doc)
    @click.argument("id", metavar="REVIEW" if slot == "review_id" else "ID")
    @_command
    async def _(caller: Caller, id: str) -> int:
        return await caller.show(op, {slot: id}, show)


_add_command("show", "Show a remark with its replies.", "get_annotation", show=_show_thread)
_add_command("resolve", "Resolve a remark.", "resolve_annotation")
_add_command("reopen", "Open a resolved remark again.", "reopen_annotation")
_add_command("complete", "Complete a REVIEW, by its id.", "complete_review", "review_id")
