"""`repl-pair skill`: the agent's guide, written from the table of ops and the recipes."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import DEFAULT_TOOLSETS, Descriptor
from repl_pair.cli.setup.recipes import RECIPES, Step
from repl_pair.runtime.results.instructions import INSTRUCTIONS
from repl_pair.runtime.signatures.corrections import write_call

HEAD = """\
---
name: repl-pair
description: Work beside a person in their live Python kernel through the MCP server repl-pair. \
Use it to list and run their stories and variants, look at values, answer annotations, keep a work \
session, or check the contracts of a realm of repos.
---

# repl-pair

Each call below stands twice: as a tool of the server, and as a command line of mcporter, where \
`{server}` is the server's name. Both go to the same kernel. Without a kernel, the ops of the \
toolsets review, session and realm answer for the project of the server's folder; `kernel` in the \
reply says which it was.

A reply is {{ok, result or error, kernel, next_steps}}; next_steps are calls that work as written. \
A tool that your list lacks is called by read_op or run_op, or listed with --toolsets.
"""


@click.command()
@click.option("--name", default="pair", show_default=True, help="The server's name in mcporter.")
def skill(name: str) -> None:
    """Print the agent's guide as a SKILL.md: the words, recipes, and all tools."""
    click.echo(write_skill(name), nl=False)


def write_skill(server: str) -> str:
    """Return the guide for agents that call the server by that name."""
    recipes = "\n\n".join(_write_recipe(title, steps, server) for title, steps in RECIPES.items())
    tools = "\n\n".join(_list_tools())
    words = f"```text\n{INSTRUCTIONS}```"
    head = HEAD.format(server=server)
    return (
        f"{head}\n## Words and rules\n\n{words}\n\n## Recipes\n\n{recipes}\n\n## Tools\n\n{tools}\n"
    )


def _write_recipe(title: str, steps: Sequence[Step], server: str) -> str:
    described = [f"{n}. {_describe(step)}" for n, step in enumerate(steps, 1)]
    commands = [line for step in steps for line in _write_commands(step, server)]
    return "\n".join((f"### {title}", "", *described, "", "```sh", *commands, "```"))


def _describe(step: Step) -> str:
    call = "" if step.op is None else f": `{write_call(step.op, step.args)}`"
    parts = [f"`${name}` is its `{path}`." for name, path in step.takes.items()]
    return " ".join((f"{step.does}{call}.", *parts))


def _write_commands(step: Step, server: str) -> Iterator[str]:
    """Give the lines of a step for a shell; a comment names what it has to take or do."""
    if step.op is None:
        yield f"# {step.does}."
        return
    args = {n: v if isinstance(v, str) else json.dumps(v) for n, v in step.args.items()}
    words = [_quote(f"{name}={value}") for name, value in args.items()]
    yield " ".join((f"mcporter call {server}.{step.op}", *words))
    for name, path in step.takes.items():
        yield f"# {name}: {path}"


def _quote(word: str) -> str:
    """Quote a word for a shell, which puts the values of `$NAME` in."""
    if "$" not in word:
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`")
    return f'"{escaped}"'


def _list_tools() -> Iterator[str]:
    """Give the ops of each toolset, a line each; first the toolsets that are listed by default."""
    callable_ = [entry for entry in manifest.load() if not entry.get("internal")]
    ordered = sorted(
        callable_, key=lambda e: (e["toolset"] not in DEFAULT_TOOLSETS, e["toolset"], e["name"])
    )
    for toolset, ops in groupby(ordered, key=lambda entry: entry["toolset"]):
        listed = "" if toolset in DEFAULT_TOOLSETS else f" (listed with --toolsets {toolset})"
        yield "\n".join((f"### {toolset}{listed}", "", *map(_write_tool, ops)))


def _write_tool(entry: Descriptor) -> str:
    takes = ", ".join(_write_parameter(entry, name) for name in entry["input_schema"]["properties"])
    line = entry["doc"].partition("\n")[0]
    return f"- `{entry['name']}({takes})` ({entry['access']}): {line}"


def _write_parameter(entry: Mapping[str, Any], name: str) -> str:
    """Return a parameter as Python has it: those that may be left out with their defaults."""
    schema = entry["input_schema"]
    if name in schema.get("required", ()):
        return name
    return f"{name}={schema['properties'][name].get('default')!r}"
