"""What a run raised, in words and as data: its text, what ran, and the person's own line."""

import os
import threading
from collections.abc import Callable, Mapping
from itertools import islice, starmap
from traceback import walk_stack, walk_tb
from types import CodeType, FrameType
from typing import Any, cast

from repl_pair.errors import error_text, message_of
from repl_pair.runtime.capture.own_threads import frames_of_threads
from repl_pair.runtime.reading.code_files import library_path, shown_place
from repl_pair.runtime.reading.code_lines import shown_line
from repl_pair.runtime.reading.exceptions import causes_of, leaves_of, notes_of, traceback_of
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.raised import learn_from_raised
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.stopping.stop import is_stop, stop_of
from repl_pair.runtime.values.classes import is_of
from repl_pair.wire import cut_at_word

LONGEST = 1_900
"""How many characters of a reason are kept: as many as an answer shows."""
_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""The folder of the runtime: what is raised in it is not the person's."""


def as_raised(error: BaseException) -> BaseException:
    """Return the StopIteration that a coroutine of this package passed on as another exception."""
    cause = error.__cause__
    if type(error) is not RuntimeError or not is_of(cause, StopIteration, StopAsyncIteration):
        return error
    # Anybody may raise one of another; these are the interpreter's own words.
    own_words = (" raised StopIteration", " raised StopAsyncIteration")
    return cast("BaseException", cause) if message_of(error).endswith(own_words) else error


def text_in(error: BaseException, doing: Mapping[str, Any]) -> str:
    """Return an exception behind what ran when it was raised: `play 'buy', step 2, event 'add'`."""
    words = [f"{word} {value!r}" for word, value in doing.items() if word in _NAMED]
    return f"{', '.join(words)}: {error_text(error)}" if words else error_text(error)


def bounded(text: str) -> str:
    """Return the head of a text that is too long for a reason, without the secrets in it."""
    if len(text) <= LONGEST:
        return text
    # Half a secret at the end would not be known as one.
    return f"{NEEDLES.scrub(text, LONGEST)[0]}… ({len(text):,} characters)"


def describe(error: BaseException, doing: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was raised, what ran, and where in the person's code: of a stop, where it stood.

    Up to five lines of that code, where there are more than one; with notes, causes (the nearest
    first), and of a group the exceptions in it. What it holds in secret is learned before.
    """
    learn_from_raised(error)
    named, frames = _named(error), _frames(error)
    more: dict[str, Any] = {
        "frames": frames if len(frames) > 1 else [],
        "notes": shown_notes(error),
        **describe_related(error, _line),
    }
    kept = {name: value for name, value in more.items() if value}
    return {**named, **doing, **_place_in(frames), **kept}


def place_of(thread: int) -> dict[str, Any]:
    """Return the line of the person's code at which a run stands now, on its thread or loop.

    Nothing where it is not clear which line: where several loops are stuck.
    """
    threads = [[thread], [one.ident for one in threading.enumerate() if one.name == PRIVATE.name]]
    with frames_of_threads() as latest:
        for group in threads:
            stacks = map(latest.get, filter(None, group))
            places = [place for stack in stacks if stack and (place := _innermost(stack))]
            if len(places) == 1:
                return _place_in(places)
    return {}


def _place_in(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the last of these lines as the place of an error, which names no function."""
    place = dict(lines[-1]) if lines else {}
    place.pop("function", None)
    return place


def _innermost(stack: FrameType) -> dict[str, Any]:
    """Return the nearest line of the person's above what the runtime called; nothing without."""
    for frame, number in walk_stack(stack):
        if frame.f_code.co_filename.startswith(_HERE):
            break
        if library_path(frame.f_code.co_filename) is None:
            return _line_of(frame.f_code, number)
    return {}


def _named(error: BaseException) -> dict[str, str]:
    if is_stop(error):
        return {"type": "Stopped", "message": stop_of(error).reason}
    return {"type": type(error).__name__, "message": message_of(error)}


def _line(error: BaseException) -> dict[str, Any]:
    """Return another exception behind one: what it is, and its last line in the person's code."""
    notes, place = shown_notes(error), _place_in(_frames(error))
    return _named(error) | place | ({"notes": notes} if notes else {})


def describe_related(error: BaseException, describe: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the causes of an exception, the nearest first, and of a group what is in it."""
    found: dict[str, Any] = {"causes": list(map(describe, islice(causes_of(error), MAX_CAUSES)))}
    if is_of(error, BaseExceptionGroup):
        leaves = leaves_of(error)
        found |= {"group": list(map(describe, leaves[:MOST])), "in_group": len(leaves)}
    return {slot: value for slot, value in found.items() if value}


def shown_notes(error: BaseException) -> list[str]:
    """Return the notes of an exception, each cut."""
    return [cut_at_word(note, LONGEST) for note in notes_of(error, MOST)]


MOST, MAX_CAUSES = 5, 3
"""How many frames, notes and exceptions of a group are kept, and how many causes."""
_NAMED = ("play", "step", "event", "loader", "derived", "decorator", "patch")


def _frames(error: BaseException) -> list[dict[str, Any]]:
    """Return the last lines of the person's on the way of an exception, or else its last line."""
    way = [(frame.f_code, number) for frame, number in walk_tb(traceback_of(error))]
    way = [line for line in way if not line[0].co_filename.startswith(_HERE)]
    own = [line for line in way if library_path(line[0].co_filename) is None] or way[-1:]
    return list(starmap(_line_of, own[-MOST:]))


def _line_of(function: CodeType, number: int | None) -> dict[str, Any]:
    """Describe a line; 0 where the interpreter cleans up, which a stop may meet too."""
    filename, line = function.co_filename, number or 0
    code = shown_line(filename, line)
    return {
        "file": shown_place(filename),
        "line": line,
        "function": function.co_name,
        **({"code": code} if code else {}),
    }
