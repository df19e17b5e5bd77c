"""The responses to an effect where a run does not call what does it, exceptions among them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pkgutil import resolve_name
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.authoring.decorator_uses import RAISE, builtin_exception
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.thaw import thaw_data


class Responses:
    """The responses to an effect, in order, one a call; safe from any thread.

    `effect` is its id, or a dotted Python name. The last response is given to all further calls
    if it `repeats`.
    """

    def __init__(self, effect: str, responses: Sequence[Any], *, repeats: bool = True) -> None:
        self.effect = effect
        self._responses = responses
        self._repeats = repeats
        self._calls = count(1)

    def take(self, record_response: Callable[[Any], None]) -> Callable[[], Any]:
        """Take the next response, fresh, and record it; what is returned returns or raises it.

        AuthoringError `bad_body` when they ran out.
        """
        given, call = len(self._responses), next(self._calls)
        index = min(call, given) if self._repeats else call
        if index > given:
            raise AuthoringError(
                "bad_body",
                f"The responses to effect {self.effect!r} ran out: {given} were given, "
                f"and this is call {call}.",
            )
        response: Any = thaw_data(self._responses[index - 1], f"response to {self.effect}")
        record_response(response)
        error = _exception(response) if is_map(response) and RAISE in response else None

        def respond() -> Any:
            if error is not None:
                raise error
            return response

        return respond


def _exception(response: Mapping[str, Any]) -> Exception:
    name, message = str(response[RAISE]), response.get("message")
    cls: Any = resolve_dotted(name) if "." in name else builtin_exception(name)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise RequestError(
            "cannot_run", f"{name!r} in a response is not an exception; one is TimeoutError."
        )
    try:
        return cls() if message is None else cls(message)
    except Exception as error:
        raise RequestError(
            "cannot_run", f"{name} in a response cannot be made of its message: {error}"
        ) from error


def resolve_dotted(name: str) -> Any:
    """Get what a dotted Python name leads to; RequestError `cannot_run` where that is nothing."""
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError("cannot_run", f"There is nothing at {name!r}: {error}.") from error
