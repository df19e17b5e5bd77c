"""Reading the slots of a body: ids that exist, decorators with their data, plain lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

from repl_pair.errors import AuthoringError, did_you_mean, next_step
from repl_pair.runtime.authoring.args import bad_body, freeze_plain
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.authoring.given import freeze_given, freeze_response
from repl_pair.runtime.authoring.substrates import unknown_substrate
from repl_pair.runtime.registry.ids import WORDS, check_id
from repl_pair.runtime.registry.model import BuiltStep, Decorator, Use
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.places import secret_args
from repl_pair.runtime.values.classes import is_row
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import bad_data, is_payload, refs_in
from repl_pair.runtime.values.marks import Sensitive


def read_uses(where: str, uses: Iterable[Any]) -> tuple[Use, ...]:
    """Read decorators as they are used: an id each, or `[id, {args}]`."""
    return tuple(_use(where, use) for use in list_of(where, "decorators", uses))


def read_words(kind: str, names: Sequence[str], *, removable: bool = False) -> tuple[str, ...]:
    """Read a list of ids of one kind; `removable` ones may be headed by `!`.

    A tag need not be registered, unless `registry.strict_tags` is set.
    """
    words = tuple(map(str, list_of(f"{kind}s", f"{kind}s", names)))
    for word in words:
        id = word.removeprefix("!") if removable else word
        if kind == "tag" and not REGISTRY.strict_tags:
            check_id(kind, WORDS, id)
        else:
            known(kind, id)
    return words


def read_marks(where: str, marks: Sequence[Any]) -> tuple[list[Any], ...]:
    """Read pytest marks, whose arguments are data without refs, as `[name, [args], {kwargs}]`."""
    return tuple(_mark(where, mark) for mark in list_of(where, "marks", marks))


def _mark(where: str, mark: Any) -> list[Any]:
    slots = [getattr(mark, slot, None) for slot in ("name", "args", "kwargs")]
    words: list[Any] = line_of(mark) if type(mark) is list else slots
    if len(words) != 3 or not isinstance(words[0], str) or not is_payload(words[2]):
        raise bad_body(where, f"a mark is a pytest mark: pytest.mark.timeout(5), not {mark!r:.80}.")
    name, args, kwargs = words
    here = f"{where}: mark {name}"
    listed = [_plain(arg, f"{here}[{at}]") for at, arg in enumerate(args)]
    return [name, listed, {str(key): _plain(arg, f"{here}.{key}") for key, arg in kwargs.items()}]


def _plain(value: Any, where: str) -> Any:
    """Freeze what a mark holds, which pytest gets as it is: a ref in it would be a mapping."""
    try:
        frozen = freeze_given(value, where=where)
    except AuthoringError as error:
        place = str(error.detail.get("path", where))
        raise bad_data(place, f"is no plain data. {_IN_MARKS}") from error
    if refs_in(frozen):
        raise bad_data(where, f"holds a ref, which has no value before a run. {_IN_MARKS}")
    return frozen


_IN_MARKS = (
    "A mark holds plain data: write a condition as text or as a value, a fixture by its name, and "
    "all else in `pytestmark = pytest.mark.…` of the file"
)


def read_substrates(where: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Read the substrates of a body; AuthoringError `not_found` for an unknown one."""
    read = tuple(map(str, list_of(where, "substrates", ids)))
    for fault in filter(None, map(unknown_substrate, read)):
        raise AuthoringError(
            "not_found",
            f"{where}: {fault}",
            detail={"kind": "substrate"},
            next_steps=[next_step("list_substrates")],
        )
    return read


def known(kind: str, id: str) -> str:
    """Return id of an entry that is registered; AuthoringError `not_found` names the nearest."""
    if REGISTRY.find(kind, id) is None:
        raise AuthoringError(
            "not_found",
            f"There is no {kind} {id!r}.{did_you_mean(id, REGISTRY.ids(kind))} "
            f"Register it first: repl_pair.{kind}({id!r}, ...).",
            detail={"kind": kind, "id": id},
        )
    return id


def _use(where: str, use: Any) -> Use:
    named = named_line(use)
    if named is None:
        raise bad_body(where, f"a decorator is its id, or [id, {{args}}], not {use!r:.80}.")
    id, args = known("decorator", named[0]), named[1]
    body = REGISTRY.get("decorator", id).body
    here = f"{where}: decorator {id}"
    frozen = freeze_plain(here, _with_responses(here, body, args))
    # Args that the wrap function declares as secrets become Secrets.
    declared = secret_args(body.wrap.resolve(), frozen) if body.wrap else ()
    for name in frozen.keys() & {path[0] for path in declared}:
        frozen[name] = freeze(frozen[name], Annotated[Any, Sensitive])
    if wrong := misuse(body, frozen):
        raise bad_body(where, f"decorator {id!r}: {wrong}")
    return [id, frozen]


def _with_responses(where: str, body: Decorator, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the args of a decorator with responses frozen: these may be any value."""
    if body.kind != "fx_override":
        return args
    given = {"response": args["response"]} if "response" in args else {}
    made = {name: freeze_response(value, f"{where}.{name}") for name, value in given.items()}
    if is_row(args.get("responses")):
        made["responses"] = [freeze_response(r, f"{where}.responses") for r in args["responses"]]
    return {**args, **made}


def named_line(line: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and the data of `name` or `[name, {data}]`; None for anything else."""
    words = [line] if isinstance(line, str) else line_of(line)
    data: Any = words[1] if len(words) > 1 else {}
    fits = 1 <= len(words) <= 2 and isinstance(words[0], str) and is_payload(data)
    return (str(words[0]), data) if fits else None


def line_of(line: Any) -> list[Any]:
    """Return a line as a list, empty for what is no list or tuple."""
    return list(cast("Iterable[Any]", line)) if type(line) in (list, tuple, BuiltStep) else []


def list_of(where: str, slot: str, value: Any) -> Iterable[Any]:
    """Return what a slot lists; AuthoringError `bad_body` for a text and what is no list."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise bad_body(where, f"{slot} is a list: [{value!r}], not {value!r}.")
    return cast("Iterable[Any]", value)
