"""What answers for an effect in a run: responses in order, given or raised."""

from collections.abc import Callable, Mapping
from itertools import count
from pkgutil import resolve_name
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import record
from repl_pair.runtime.shapes import is_map
from repl_pair.runtime.thaw import thaw_data
from repl_pair.runtime.uses import RAISE, builtin_exception


@record
class Override:
    """What answers for an effect: its id, or a dotted Python name, and the responses in order.

    The last response is given again and again where it `repeats`.
    """

    effect: str
    responses: tuple[Any, ...]
    repeats: bool = True


class Answers:
    """The responses of one override, one a call; safe from any thread."""

    def __init__(self, override: Override) -> None:
        self.effect = override.effect
        self._override = override
        self._calls = count(1)

    def take(self) -> Any:
        """Give the next response, fresh; AuthoringError `bad_body` when they ran out."""
        responses, call = self._override.responses, next(self._calls)
        index = min(call, len(responses)) if self._override.repeats else call
        if index > len(responses):
            raise AuthoringError(
                "bad_body",
                f"The responses to effect {self.effect!r} ran out: {len(responses)} were given, "
                f"and this is call {call}.",
            )
        return thaw_data(responses[index - 1], f"response to {self.effect}")


def responder(answers: Answers, answered: Callable[[Any], None]) -> Callable[[], Any]:
    """Take the next response and record it; the function given returns or raises it."""
    response = answers.take()
    answered(response)
    if not (is_map(response) and RAISE in response):
        return lambda: response
    error = _exception(response)

    def fail() -> Any:
        raise error

    return fail


def _exception(response: Mapping[str, Any]) -> Exception:
    """Make the exception that a response names, by its builtin or dotted name."""
    name, message = str(response[RAISE]), response.get("message")
    cls: Any = resolve_dotted(name) if "." in name else builtin_exception(name)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise RequestError(
            "cannot_run", f"{name!r} in a response is no exception; name one, as in TimeoutError."
        )
    try:
        return cls() if message is None else cls(message)
    except Exception as error:
        raise RequestError(
            "cannot_run", f"{name} in a response cannot be made of its message: {error}"
        ) from error


def resolve_dotted(name: str) -> Any:
    """Give what a dotted Python name leads to; RequestError `cannot_run` where that is nothing."""
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError("cannot_run", f"There is nothing at {name!r}: {error}.") from error
