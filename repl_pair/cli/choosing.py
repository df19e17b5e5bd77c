"""Finds the ops and variants that words of the command line name; refuses words that name none."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click

from repl_pair.bridge.policy import Descriptor
from repl_pair.cli.callers import Caller
from repl_pair.cli.options import parse_pairs
from repl_pair.errors import ReplPairError, RequestError, did_you_mean, next_step
from repl_pair.runtime.sweeps.tag_expression import read_tags
from repl_pair.wire import raise_for_error

VARIANTS = click.argument("variants", nargs=-1, metavar="[VARIANT...]")
TAGS = click.option("--tags", metavar="EXPR", help="Those whose tags fit: 'test and not slow'.")
MODE = click.option("--mode", "modes", multiple=True, help="A mode to activate; repeatable.")
OVERRIDE = click.option(
    "--override", "overrides", multiple=True, metavar="NAME=JSON", help="Replace an arg."
)


def find_op(descriptors: Iterable[Descriptor], verb: str, kind: str) -> Descriptor:
    """Return the op of a verb, `list_` or `get_`, for a kind of any number; else `not_found`."""
    names = ((op["name"], op) for op in descriptors)
    found = {name.removeprefix(verb): op for name, op in names if name.startswith(verb)}
    for name, op in found.items():
        if _singular(name) == _singular(kind):
            return op
    raise RequestError(
        "not_found",
        f"There is no kind {kind!r} here; there are {', '.join(sorted(found))}."
        f"{did_you_mean(kind, found)}",
    )


async def choose(caller: Caller, words: Sequence[str], tags: str | None) -> list[str]:
    """Return the variants that fit words and tags, each once; without words, all of these tags.

    A word is an id, or a pattern such as `pricing.*` or `*/Bulk`. One that names nothing refuses
    all of them, and what chooses nothing is refused: RequestError `not_found`.
    """
    is_listed = tags is not None or not words or any(map(_is_pattern, words))
    known, every = await _every_variant(caller) if is_listed else ([], {})
    named = await _find_variants(caller, words, list(every)) if words else None
    found = list(every) if named is None else named
    if tags is not None:
        _, fits = read_tags(tags, sorted({*known}.union(*every.values())))
        found = [id for id in named or sorted(every) if id in every and fits(every[id])]
    if not found:
        of = f" of the {len(named)} that are named" if named else ""
        what = f"--tags {tags!r} chooses none{of}" if tags is not None else "there is none"
        raise RequestError(
            "not_found",
            f"No variant: {what}. Nothing was run.",
            next_steps=[next_step("list_variants")],
        )
    return found


def how_to_run(
    modes: Sequence[str], overrides: Sequence[str], plays: Sequence[str] = (), **times: float | None
) -> dict[str, Any]:
    """Return the arguments of a run that these options give."""
    replaced = dict(parse_pairs(overrides, "--override"))
    given = {"modes": list(modes), "overrides": replaced, "plays": list(plays), **times}
    return {name: value for name, value in given.items() if value not in (None, [], {})}


async def _find_variants(caller: Caller, words: Sequence[str], every: Sequence[str]) -> list[str]:
    chosen: dict[str, None] = {}
    missed: list[str] = []
    for word in words:
        try:
            chosen |= dict.fromkeys(await _named_by(caller, word, every))
        except ReplPairError as error:
            if error.code != "not_found":
                raise
            missed.append(error.message)
    if missed:
        raise RequestError(
            "not_found",
            f"{' '.join(missed)} Nothing was run.",
            next_steps=[next_step("list_variants")],
        )
    return list(chosen)


def _is_pattern(word: str) -> bool:
    return not set(word).isdisjoint("*?[")


async def _named_by(caller: Caller, word: str, every: Sequence[str]) -> list[str]:
    if not _is_pattern(word):
        return [raise_for_error(await caller.call("get_variant", {"variant_id": word}))["id"]]
    matching = [id for id in every if fnmatchcase(id, word)]
    if not matching:
        raise RequestError("not_found", f"No variant matches {word!r}.{did_you_mean(word, every)}")
    return matching


async def _every_variant(caller: Caller) -> tuple[list[str], dict[str, Sequence[str]]]:
    """Return all tags, and those of all variants, also of one that a tag keeps out of lists."""
    listed = await _every(caller, "list_variants")
    if known := [item["id"] for item in await _every(caller, "list_tags")]:
        listed += await _every(caller, "list_variants", tags=known)
    return known, {item["id"]: item.get("tags", ()) for item in listed}


async def _every(caller: Caller, op: str, **args: Any) -> list[Mapping[str, Any]]:
    return raise_for_error(await caller.call_all(op, args))["items"]


def _singular(word: str) -> str:
    return word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
