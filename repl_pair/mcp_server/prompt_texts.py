"""The table of the prompts: what each takes, what completes that, and its text for a caller."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from repl_pair.bridge.policy import OPEN
from repl_pair.bridge.session import Session
from repl_pair.bridge.suggestions import check_new_id
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.mcp_server.completion import Found, find_ids, find_words, merge
from repl_pair.mcp_server.prompt_caller import PromptCaller, quote, word_of
from repl_pair.wire import REDACTED

Complete: TypeAlias = Callable[[Session, str], Awaitable[Found]]
Text: TypeAlias = tuple[str, Sequence[str]]
"""What is to be done, and how: a line a step."""

LEAST_S = 1.0
MOST_TAGS = 20
MOST_FAILURES = 5
SCHEDULES = ("10", "60", "300", "3600")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument of a prompt, and what completes it."""

    name: str
    doc: str
    complete: Complete
    is_required: bool = True


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt; `write` takes the caller, and the arguments by name.

    It raises RequestError for arguments that nothing can be written for.
    """

    name: str
    title: str
    doc: str
    arguments: Sequence[Argument]
    write: Callable[..., Awaitable[Text]]


async def _complete_ids(kind: str, session: Session, typed: str) -> Found:
    return await find_ids(session, kind, typed)


async def _complete_tags(session: Session, typed: str) -> Found:
    """Complete the last of the tags between commas."""
    before, comma, last = typed.rpartition(",")
    found = await find_ids(session, "tag", last.strip())
    return found._replace(values=[f"{before}{comma}{value}" for value in found.values])


async def _complete_calls(session: Session, typed: str) -> Found:
    functions = await find_ids(session, "function", typed)
    return merge(functions, find_words(_ops_to_schedule(session), typed))


async def _complete_seconds(_session: Session, typed: str) -> Found:
    values = [word for word in SCHEDULES if word.startswith(typed)]
    return Found(values, len(values))


def _ops_to_schedule(session: Session) -> list[str]:
    ops, policy = session.descriptors(), session.policy
    return [each["name"] for each in ops if each["access"] in OPEN and policy.is_for_run_op(each)]


async def _write_function(caller: PromptCaller, *, name: str) -> Text:
    check_new_id("function", name)
    if any(word.startswith("_") for word in name.split(".")):
        raise RequestError("bad_id", f"{name!r}: a word that begins with _ is hidden from agents.")
    is_there = await caller.sees("function", name)
    lines = [
        caller.write("See what is published", "list_functions"),
        "Write it, with a type hint for each parameter:\n\n"
        "    import repl_pair\n\n"
        f'    @repl_pair.function("{name}", expose=True{_tier_of(caller)})\n'
        f"    def {word_of(name)}() -> None:\n"
        '        """One sentence of what it does."""\n\n'
        "   mutates=False says that it changes nothing, ask=True that the person approves each "
        "call, thread_safe=True that it runs beside their cells.",
        "The person runs the cell, or imports the module.",
        caller.write("Call it", "run_function", function=name),
    ]
    return (
        f"Publish the function {name} of the person's app, so that agents can call it. Only the "
        "person's own code publishes: write it where that code is kept, and let them run it."
        + (" There is one of that name, which is replaced." if is_there else ""),
        lines,
    )


def _tier_of(caller: PromptCaller) -> str:
    """Return the argument without which the caller would not see what is registered."""
    tier = caller.session.policy.tier
    return f', tier="{tier}"' if tier else ""


async def _write_panel(caller: PromptCaller, *, id: str) -> Text:
    check_new_id("panel", id)
    known = (await find_ids(caller.session, "panel", "")).values
    title, word = word_of(id).replace("_", " ").capitalize(), word_of(id)
    lines = [
        caller.write("See which panels there are", "list_panels"),
        "What it shows is what a function of the person's returns: a widget, a figure, a data "
        "frame or text. In their file or cell:\n\n"
        "    import repl_pair\n\n"
        f"    def show_{word}() -> str:\n"
        '        return "nothing yet"\n\n'
        f'    repl_pair.panel("{id}", title="{title}", placement="right", render=show_{word}'
        f"{_tier_of(caller)})\n\n"
        "   placement is right, left, bottom, top, modal or centre.",
        f'The person runs the cell, and opens it with repl_pair.show(panel="{id}").',
    ]
    if known and id not in known:
        body = {"title": title, "placement": "right", "render": known[0]}
        does = "Or show what another panel renders, without code"
        lines.insert(2, caller.write(does, "register_panel", panel_id=id, body=body))
    is_there = " There is one of that id, which is replaced." if id in known else ""
    return f"Build the panel {id}, which the person sees beside the variants.{is_there}", lines


async def _write_schedule(caller: PromptCaller, *, call: str, every_s: str) -> Text:
    seconds = _read_seconds(every_s)
    known = [
        *_ops_to_schedule(caller.session),
        *(await find_ids(caller.session, "function", "")).values,
    ]
    if call not in known and not await caller.sees("function", call):
        words = f"There is nothing to call as {quote(call)}.{did_you_mean(call, known)}"
        raise RequestError("not_found", words)
    is_op = "." not in call
    described: dict[str, Any] = {"op": call} if is_op else {}
    made: dict[str, Any] = {} if is_op else {"function": call}
    lines = [
        caller.write(
            "See what it takes", "describe_op" if is_op else "list_functions", **described
        ),
        caller.write("Begin", "register_trigger", call=call, args={}, on={"every_s": seconds}),
    ]
    if caller.may_call("register_trigger"):
        lines += [
            caller.write("See how its runs end", "list_triggers"),
            caller.write(
                "End it, by the handle of its begin", "unregister_trigger", trigger="<trigger>"
            ),
        ]
    else:
        lines.append(
            caller.write("Until then call it yourself", call if is_op else "run_function", **made)
        )
    return f"Call {call} every {seconds:g} seconds, without waiting for it.", lines


def _read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not LEAST_S <= seconds < math.inf:
        words = f"every_s is a number of seconds, at least {LEAST_S:g}, not {quote(text)}."
        raise RequestError("bad_arguments", words)
    return int(seconds) if seconds.is_integer() else seconds


async def _write_triage(caller: PromptCaller, *, tags: str = "") -> Text:
    asked = [word for word in map(str.strip, tags.split(",")) if word]
    if len(asked) > MOST_TAGS:
        raise RequestError("bad_arguments", f"tags are {MOST_TAGS} at most, not {len(asked)}.")
    for tag in asked:
        check_new_id("tag", tag)
    of: dict[str, Any] = {"tags": asked} if asked else {}
    failing, head = await _read_failing(caller, of)
    variant = next((id for id in failing if REDACTED not in id), "<variant_id>")
    carriers = f"variants with {' or '.join(asked)}" if asked else "variants"
    return f"Find out why {carriers} fail, and mend them. {head}", [
        caller.write("Run them", "run_variants", **(of or {"changed": True})),
        caller.write("Read what fails, and why", "read_failures", **of),
        caller.write(
            "Of each, see where its values come from", "explain_variant", variant_id=variant
        ),
        caller.write("And which part changed since", "changed_variants", **of),
        "Mend the component in its file or cell; the person runs the cell.",
        caller.write(
            "Run it again until it passes, with total above 0", "run_variant", variant_id=variant
        ),
        caller.write("See that all pass", "tests_passing", **of),
    ]


async def _read_failing(caller: PromptCaller, of: dict[str, Any]) -> tuple[list[str], str]:
    """Return the first variants that fail, and that in words; `not_found` for a tag out of view."""
    if not caller.session.links.is_chosen:
        return [], "Nothing was read of the kernel yet."
    args = {**of, "limit": MOST_FAILURES}
    reply = await caller.session.call("read_failures", args, is_reported=False)
    if not reply["ok"]:
        error = reply["error"]
        if error["code"] == "not_found":
            raise RequestError("not_found", error["message"])
        return [], f"The kernel did not answer what fails now: {error['code']}."
    items, total = reply["result"]["items"], reply["result"]["total"]
    ids = [item["variant_id"] for item in items]
    if not ids:
        return [], "In their last runs none failed."
    more = f" and {total - len(ids)} more" if total > len(ids) else ""
    return ids, f"In their last runs failed: {', '.join(ids)}{more}."


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            name="build-panel",
            title="Build a panel",
            doc="Steps to a panel that the person sees beside the variants.",
            arguments=(
                Argument(
                    name="id",
                    doc="The panel's id, such as spending",
                    complete=partial(_complete_ids, "panel"),
                ),
            ),
            write=_write_panel,
        ),
        Prompt(
            name="register-function",
            title="Register a function",
            doc="Steps to a function of the person's app that agents can call.",
            arguments=(
                Argument(
                    name="name",
                    doc="The function's id, such as orders.place",
                    complete=partial(_complete_ids, "function"),
                ),
            ),
            write=_write_function,
        ),
        Prompt(
            name="schedule-a-run",
            title="Schedule a run",
            doc="Steps to a call that is made again and again, without a caller that waits.",
            arguments=(
                Argument(
                    name="call",
                    doc="A function of the app, or an op that reads or runs",
                    complete=_complete_calls,
                ),
                Argument(name="every_s", doc="Seconds, at least 1", complete=_complete_seconds),
            ),
            write=_write_schedule,
        ),
        Prompt(
            name="triage-failing-variants",
            title="Triage failing variants",
            doc="Steps from the variants that fail to why they do, and to their mending.",
            arguments=(
                Argument(
                    name="tags",
                    doc="Tags between commas; all variants without",
                    complete=_complete_tags,
                    is_required=False,
                ),
            ),
            write=_write_triage,
        ),
    )
}
"""The prompts by name, sorted."""
