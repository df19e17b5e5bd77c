"""What an exception of the person's holds in secret: so may its text, and what shows that."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from traceback import walk_tb
from types import FrameType
from typing import Any

from repl_pair.errors import error_text
from repl_pair.runtime.capture.captured import ON_THREAD_ERROR
from repl_pair.runtime.reading.code_files import library_path
from repl_pair.runtime.reading.exceptions import (
    attributes_of,
    causes_of,
    leaves_of,
    locals_of,
    traceback_of,
)
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets, current_secrets, within
from repl_pair.runtime.secrets.learning import learn_held
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.values.marks import is_secret_key


def learn_from_error(error: BaseException) -> None:
    """Learn what the person's last error, and the variables on its way, hold in secret."""
    for one, frames in _ways_of(error):
        learn_held([attributes_of(one), *map(locals_of, frames)])


def text_of_raised(error: BaseException) -> str:
    """Return the class and text of an exception of the person's, without what it holds in secret.

    For a text that is kept and shown by others than the call or run that raised it.
    """
    with knowing(error):
        return NEEDLES.scrub(error_text(error))[0]


@contextmanager
def knowing(error: BaseException) -> Generator[None]:
    """Know in the block what an exception holds in secret, and what the call or run met."""
    with within(current_secrets() or CallSecrets()):
        learn_from_raised(error)
        yield


def text_for_run(error: BaseException) -> str:
    """Return the class and text of an exception, whose secrets are hidden as the run leaves."""
    learn_from_raised(error)
    return error_text(error)


def learn_from_raised(error: BaseException) -> None:
    """Learn, for the call or run in progress alone, what an exception holds in secret.

    So do the variables of the person's on its way that have the name of one: its text may hold
    them, and elsewhere `token` may be any word.
    """
    if (own := current_secrets()) is None:
        return
    for one, frames in _ways_of(error):
        persons = [frame for frame in frames if library_path(frame.f_code.co_filename) is None]
        spaces = [attributes_of(one), *map(_secret_locals, persons)]
        learn_held(spaces, needles=own, rank=Rank.MET)


ON_THREAD_ERROR.append(learn_from_raised)


def _ways_of(error: BaseException) -> Iterator[tuple[BaseException, list[FrameType]]]:
    """Yield an exception and those behind it, each with the deepest frames on its way."""
    behind = [*islice(causes_of(error), _RELATED), *leaves_of(error, _RELATED)]
    for one in {id(one): one for one in (error, *behind)}.values():
        yield one, [frame for frame, _ in walk_tb(traceback_of(one))][-_FRAMES:]


def _secret_locals(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a frame with secret names.

    Where there is none, `f_locals` is not read: up to Python 3.12 the frame keeps all that it gave.
    """
    code = frame.f_code
    if not any(map(is_secret_key, (*code.co_varnames, *code.co_cellvars, *code.co_freevars))):
        return {}
    return {name: value for name, value in locals_of(frame).items() if is_secret_key(name)}


_RELATED, _FRAMES = 5, 50
"""In how many exceptions behind one, and in how many of its frames, is searched."""
