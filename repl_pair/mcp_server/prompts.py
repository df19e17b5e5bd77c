"""The prompts of a session: which there are, their texts for its caller, and their completion."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mcp import types

from repl_pair.bridge.background.calls import ops_to_call
from repl_pair.bridge.session import Session
from repl_pair.errors import ReplPairError, RequestError, did_you_mean
from repl_pair.mcp_server import completion
from repl_pair.mcp_server.completion import Completions, find_ids, find_words, merge
from repl_pair.mcp_server.notifying import Context
from repl_pair.mcp_server.pages import page_of
from repl_pair.mcp_server.prompt_caller import PromptCaller, quote
from repl_pair.mcp_server.prompt_texts import (
    Text,
    write_function,
    write_panel,
    write_schedule,
    write_triage,
)

ARGUMENT_CHARS = 400
SHOWN_NEAR = 5
SCHEDULES = ("10", "60", "300", "3600")

Complete: TypeAlias = Callable[[Session, str], Awaitable[Completions]]


@dataclass(frozen=True)
class Argument:
    """An argument of a prompt, and what completes it."""

    name: str
    doc: str
    complete: Complete
    is_required: bool = True


@dataclass(frozen=True)
class Prompt:
    """A prompt; `write` is of `prompt_texts`."""

    name: str
    title: str
    doc: str
    write: Callable[..., Awaitable[Text]]
    arguments: Sequence[Argument]


async def _complete_tags(session: Session, typed: str) -> Completions:
    """Complete the last of the tags between commas."""
    before, comma, last = typed.rpartition(",")
    found = await find_ids(session, "tag", last.strip())
    return found._replace(values=[f"{before}{comma}{value}" for value in found.values])


async def _complete_calls(session: Session, typed: str) -> Completions:
    functions = await find_ids(session, "function", typed)
    return merge(functions, find_words(ops_to_call(session.policy), typed))


async def _complete_seconds(_session: Session, typed: str) -> Completions:
    values = [word for word in SCHEDULES if word.startswith(typed)]
    return Completions(values, len(values))


def _complete_ids(kind: str) -> Complete:
    return lambda session, typed: find_ids(session, kind, typed)


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "build-panel",
            "Build a panel",
            "Steps to a panel that the person sees beside the variants.",
            write_panel,
            [Argument("id", "The panel's id, such as spending", _complete_ids("panel"))],
        ),
        Prompt(
            "register-function",
            "Register a function",
            "Steps to a function of the person's app that agents can call.",
            write_function,
            [
                Argument(
                    "name", "The function's id, such as orders.place", _complete_ids("function")
                )
            ],
        ),
        Prompt(
            "schedule-a-run",
            "Schedule a run",
            "Steps to a call that is made again and again, without a caller that waits.",
            write_schedule,
            [
                Argument(
                    "call", "A function of the app, or an op that reads or runs", _complete_calls
                ),
                Argument("every_s", "Seconds, at least 1", _complete_seconds),
            ],
        ),
        Prompt(
            "triage-failing-variants",
            "Triage failing variants",
            "Steps from the variants that fail to why they do, and to fixing them.",
            write_triage,
            [
                Argument(
                    "tags",
                    "Tags between commas; all variants without",
                    _complete_tags,
                    is_required=False,
                )
            ],
        ),
    )
}
"""The prompts by name, sorted."""


class Prompts:
    """The handlers of a session's prompts; the same ones for all, each written for its caller.

    What cannot be written is answered as a message that says what is missing, never as an error.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def list_prompts(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Answer `prompts/list`."""
        page, cursor = page_of(params, PROMPTS.values(), lambda prompt: prompt.name)
        return types.ListPromptsResult(prompts=list(map(_describe, page)), next_cursor=cursor)

    async def get(
        self, _ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Answer `prompts/get` by one message to the agent."""
        try:
            given = {name: value.strip() for name, value in (params.arguments or {}).items()}
            text = await self._write(params.name, given)
        except ReplPairError as error:
            text = error.message
        content = types.TextContent(type="text", text=text)
        message = types.PromptMessage(role="user", content=content)
        prompt = PROMPTS.get(params.name)
        return types.GetPromptResult(description=prompt and prompt.doc, messages=[message])

    async def complete(
        self, ref: types.PromptReference, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Answer `completion/complete` for an argument of a prompt."""
        prompt, name = PROMPTS.get(ref.name), params.argument.name
        argument = (
            next((each for each in prompt.arguments if each.name == name), None) if prompt else None
        )
        if argument is None:
            raise completion.refuse()
        typed = params.argument.value
        if len(typed) > ARGUMENT_CHARS:  # a completed tag repeats those before it
            return completion.answer(Completions((), 0))
        return completion.answer(await argument.complete(self._session, typed))

    async def _write(self, name: str, given: Mapping[str, str]) -> str:
        prompt = PROMPTS.get(name)
        if prompt is None:
            near, there = did_you_mean(name[:ARGUMENT_CHARS], PROMPTS), ", ".join(PROMPTS)
            raise RequestError(
                "not_found", f"There is no prompt {quote(name)}.{near} There are {there}."
            )
        await self._check_arguments(prompt, given)
        caller = PromptCaller(self._session)
        head, lines = await prompt.write(caller, **given)
        if self._session.links.in_use is None:
            lines = [
                caller.write(
                    "See which kernels run; several: pass `kernel` in each call", "list_kernels"
                ),
                *lines,
            ]
        return "\n".join([head, "", *(f"{number}. {line}" for number, line in enumerate(lines, 1))])

    async def _check_arguments(self, prompt: Prompt, given: Mapping[str, str]) -> None:
        known = {argument.name: argument for argument in prompt.arguments}
        takes = f"{prompt.name} takes {', '.join(known)}"
        for name, value in given.items():
            if name not in known:
                raise RequestError(
                    "bad_arguments",
                    f"{takes}, and no {quote(name)}.{did_you_mean(name[:ARGUMENT_CHARS], known)}",
                )
            if len(value) > ARGUMENT_CHARS:
                raise RequestError(
                    "bad_arguments",
                    f"{takes}; {name} has {ARGUMENT_CHARS} characters at most, not {len(value)}.",
                )
        lacks = [each for each in prompt.arguments if each.is_required and not given.get(each.name)]
        if lacks:
            words = [await self._describe_missing(argument) for argument in lacks]
            raise RequestError("bad_arguments", " ".join([f"{takes}.", *words]))

    async def _describe_missing(self, argument: Argument) -> str:
        near = (await argument.complete(self._session, "")).values[:SHOWN_NEAR]
        there = f" Seen here: {', '.join(near)}." if near else ""
        return f"{argument.name} is missing: {argument.doc}.{there}"


def _describe(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each.name, description=each.doc, required=each.is_required)
        for each in prompt.arguments
    ]
    return types.Prompt(
        name=prompt.name, title=prompt.title, description=prompt.doc, arguments=arguments
    )
