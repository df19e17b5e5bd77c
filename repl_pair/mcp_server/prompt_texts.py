"""The texts of the prompts: the steps to a thing, as their caller can take them.

Each function takes the caller and the arguments of its prompt, and raises RequestError for those
that nothing can be written for.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from repl_pair.bridge.background.calls import ops_to_call
from repl_pair.bridge.background.firing import MAX_S, MIN_S
from repl_pair.bridge.suggestions import check_new_id, required_args
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.mcp_server.completion import find_ids
from repl_pair.mcp_server.prompt_caller import PromptCaller, quote, word_of
from repl_pair.wire import REDACTED

Text: TypeAlias = tuple[str, Sequence[str]]
"""What is to be done, and how: a line a step."""

MAX_TAGS = 20
MAX_FAILURES = 5


async def write_function(caller: PromptCaller, *, name: str) -> Text:
    """Write how a function of the app is published; RequestError `bad_id`."""
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


async def write_panel(caller: PromptCaller, *, id: str) -> Text:
    """Write how a panel is built."""
    check_new_id("panel", id)
    known = (await find_ids(caller.session, "panel", "")).values
    title, word = word_of(id).replace("_", " ").capitalize(), word_of(id)
    lines = [
        caller.write("See which panels there are", "list_panels"),
        "What it shows is what the person's function returns: a widget, a figure, a data "
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


async def write_schedule(caller: PromptCaller, *, call: str, every_s: str) -> Text:
    """Write how a call is made again and again.

    RequestError `not_found` for an unknown call, `approval_unavailable` for one that asks.
    """
    seconds = _read_seconds(every_s)
    function = await caller.find_function(call) if "." in call else None
    op = ops_to_call(caller.session.policy).get(call)
    known = function or op
    if known is None:
        raise RequestError("not_found", await _describe_unknown(caller, call))
    if function is not None and caller.asks_for(function):
        words = f"The person approves each call of {call}, and nothing that runs by itself can ask."
        raise RequestError("approval_unavailable", words)
    args = required_args(known["schema" if function else "input_schema"])
    see, described = ("list_functions", {}) if function else ("describe_op", {"op": call})
    lines = [
        caller.write("See what it takes", see, **described),
        caller.write("Begin", "register_trigger", call=call, args=args, on={"every_s": seconds}),
    ]
    if caller.may_call("register_trigger"):
        ends = "End it, by the handle that its begin answered"
        lines += [
            caller.write("See its runs, and how the last one ended", "list_triggers"),
            caller.write(ends, "unregister_trigger", trigger="<trigger>"),
        ]
    elif caller.may_call("trigger_void"):
        lines.append(caller.write("Until then, run it once", "trigger_void", call=call, args=args))
    return f"Call {call} every {seconds:g} seconds; it ends with your client.", lines


async def _describe_unknown(caller: PromptCaller, call: str) -> str:
    functions = (await find_ids(caller.session, "function", "")).values
    near = did_you_mean(call, [*ops_to_call(caller.session.policy), *functions])
    is_held = caller.session.links.in_use is not None
    why = "" if is_held else " No kernel is chosen, so no function was looked for."
    return f"There is nothing to call as {quote(call)}.{near}{why}"


def _read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not MIN_S <= seconds <= MAX_S:
        words = f"every_s is {MIN_S:g} to {MAX_S:,} seconds, not {quote(text)}."
        raise RequestError("bad_arguments", words)
    return int(seconds) if seconds.is_integer() else seconds


async def write_triage(caller: PromptCaller, *, tags: str = "") -> Text:
    """Write how failing variants are looked into; RequestError `bad_arguments` for many tags."""
    asked = [word for word in map(str.strip, tags.split(",")) if word]
    if len(asked) > MAX_TAGS:
        raise RequestError("bad_arguments", f"tags are {MAX_TAGS} at most, not {len(asked)}.")
    for tag in asked:
        check_new_id("tag", tag)
    of: dict[str, Any] = {"tags": asked} if asked else {}
    failing, head = await _read_failing(caller, of)
    named = [id for id in failing if REDACTED not in id]
    variant, chosen = (named or ["<variant_id>"])[0], {"ids": named} if named else of
    carriers = f"variants with {' or '.join(asked)}" if asked else "variants"
    return f"Find out why {carriers} fail, and fix them. {head}", [
        caller.write("Run them", "run_variants", **(chosen or {"changed": True})),
        caller.write("Read what fails, and why", "read_failures", **of),
        caller.write(
            "Of each, see where its values come from", "explain_variant", variant_id=variant
        ),
        caller.write("And which part changed since", "changed_variants", **of),
        "Fix the component in its file or cell; the person runs the cell.",
        caller.write(
            "Run it again until it passes, with total above 0", "run_variant", variant_id=variant
        ),
        caller.write("See that all pass", "tests_passing", **of),
    ]


async def _read_failing(caller: PromptCaller, of: dict[str, Any]) -> tuple[list[str], str]:
    """Return the first variants that fail, and that in words; `not_found` for a tag out of view."""
    if not caller.session.links.is_chosen:
        return [], "Nothing was read of the kernel yet."
    args = {**of, "limit": MAX_FAILURES}
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
