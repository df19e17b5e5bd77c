"""What an assertion takes, read from its function's own signature."""

from collections.abc import Callable, Sequence
from typing import Any

from repl_pair.errors import did_you_mean
from repl_pair.records import record
from repl_pair.runtime.hints import taken_by
from repl_pair.runtime.shapes import is_map


@record
class Shape:
    """The words behind an assertion's name: fixed places, then at most one mapping of options."""

    places: tuple[str, ...]
    least: int
    """How many of the places must be filled."""
    more: str = ""
    """The name of what takes any further words."""
    options: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    """The options that must be given."""

    @property
    def payload(self) -> str:
        """Say what it takes: `[path, expected, {abs, rel}]`; `?` marks what may be left out."""
        words = [name + "?" * (at >= self.least) for at, name in enumerate(self.places)]
        words += [f"{self.more}..."] if self.more else []
        words += [f"{{{', '.join(self.options)}}}"] if self.options else []
        return f"[{', '.join(words)}]"

    def fault(self, words: Sequence[Any]) -> str:
        """Say what is wrong with the words of a line; nothing if they fit."""
        given, options = self.split(words)
        if len(given) < self.least or (len(given) > len(self.places) and not self.more):
            count = f"{len(words)} word{'s' * (len(words) != 1)}"
            return f"it takes {self.payload}, not {count}."
        for name in options:
            if name not in self.options:
                near = did_you_mean(str(name), self.options)
                return f"it takes {self.payload}; there is no option {name!r}.{near}"
        missing = [name for name in self.needed if name not in options]
        return f"it takes {self.payload}; {', '.join(missing)} is missing." if missing else ""

    def split(self, words: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Give the words for the places, and the options that stand behind them."""
        given = list(words)
        has_options = bool(self.options) and len(given) > len(self.places) and is_map(given[-1])
        options = dict(given.pop()) if has_options else {}
        return given, options


def shape_of(fn: Callable[..., Any]) -> Shape:
    """Read what an assertion takes behind what is settled; what does not say takes all."""
    try:
        parameters = list(taken_by(fn).values())
    except (TypeError, ValueError):
        return Shape(places=(), least=0, more="words")
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    return Shape(
        places=tuple(p.name for p in places),
        least=sum(p.default is p.empty for p in places),
        more=next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), ""),
        options=tuple(p.name for p in options),
        needed=tuple(p.name for p in options if p.default is p.empty),
    )
