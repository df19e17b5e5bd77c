"""From the words of the command line to ops and variants; a word that names nothing is refused."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from repl_pair.cli.desk import Desk
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.wire import raise_for_error

Descriptor = Mapping[str, Any]

PAGE = 200


def find_list(descriptors: Iterable[Descriptor], kind: str) -> Descriptor:
    """Give the op that lists a kind, named in the singular or the plural."""
    found = {op["name"].removeprefix("list_"): op for op in _verb(descriptors, "list_")}
    return _find({_singular(plural): op for plural, op in found.items()}, _singular(kind))


def find_get(descriptors: Iterable[Descriptor], kind: str) -> Descriptor:
    """Give the op that reads one entry of a kind."""
    return _find({op["name"].removeprefix("get_"): op for op in _verb(descriptors, "get_")}, kind)


def name_first(descriptor: Descriptor) -> str:
    """Name the argument of an op that stands first."""
    return next(iter(descriptor["input_schema"]["properties"]))


async def choose_variants(desk: Desk, words: Sequence[str]) -> list[str]:
    """Give the variants that the words name, each once, in their order.

    A word is an id, or a pattern such as `pricing.*` or `*/Bulk`. One that names nothing refuses
    all of them.
    """
    chosen: dict[str, None] = {}
    missed: list[str] = []
    for word in words:
        try:
            chosen |= dict.fromkeys(await _named_by(desk, word))
        except RequestError as error:
            missed.append(error.message)
    if missed:
        raise RequestError(
            "not_found", f"{' '.join(missed)} Nothing was run.", next_steps=["list_variants()"]
        )
    return list(chosen)


async def _named_by(desk: Desk, word: str) -> list[str]:
    if not set(word) & set("*?["):
        return [await _known(desk, word)]
    matching = [id for id in await _every_variant(desk) if fnmatchcase(id, word)]
    if not matching:
        raise RequestError("not_found", f"No variant matches {word!r}.")
    return matching


async def _known(desk: Desk, variant_id: str) -> str:
    reply = await desk.call("get_variant", {"variant_id": variant_id})
    if not reply["ok"] and reply["error"]["code"] == "not_found":
        raise RequestError("not_found", reply["error"]["message"])
    return raise_for_error(reply)["id"]


async def _every_variant(desk: Desk) -> list[str]:
    ids: list[str] = []
    cursor: Mapping[str, str] = {}
    while True:
        page = raise_for_error(await desk.call("list_variants", {"limit": PAGE, **cursor}))
        ids += [item["id"] for item in page["items"]]
        if "cursor" not in page:
            return ids
        cursor = {"cursor": page["cursor"]}


def _verb(descriptors: Iterable[Descriptor], verb: str) -> list[Descriptor]:
    return [op for op in descriptors if op["name"].startswith(verb)]


def _find(found: Mapping[str, Descriptor], kind: str) -> Descriptor:
    if kind not in found:
        raise RequestError(
            "not_found",
            f"There is no kind {kind!r} here; there are {', '.join(sorted(found))}."
            f"{did_you_mean(kind, found)}",
        )
    return found[kind]


def _singular(word: str) -> str:
    return word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
