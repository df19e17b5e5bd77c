"""The settings of numpy, pandas and matplotlib that a run has for itself, a row each."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from repl_pair.runtime.capture.setting_rows import Setting, memory


def _numpy_mark() -> Any:
    state = sys.modules["numpy.random"].mtrand._rand
    return state._bit_generator, memory(state), memory(state._bit_generator)


def _numpy() -> Any:
    return _numpy_mark(), sys.modules["numpy.random"].mtrand._rand.get_state(legacy=False)


def _is_as_numpy(was: Any) -> bool:
    return _numpy_mark() == was[0]


def _set_numpy(was: Any) -> None:
    (generator, *_), state = was
    numpy_random = sys.modules["numpy.random"]
    if numpy_random.mtrand._rand._bit_generator is not generator:
        numpy_random.set_bit_generator(generator)
    numpy_random.mtrand._rand.set_state(state)


def _raw_options() -> dict[str, Any]:
    return sys.modules["pandas"]._config.config._global_config


def _options() -> dict[str, Any]:
    return _copied(_raw_options())


def _copied(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(o) if isinstance(o, dict) else o for name, o in options.items()}  # pyright: ignore[reportUnknownArgumentType]


def _set_options(was: Mapping[str, Any]) -> None:
    now = dict(_by_name(_raw_options()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns of each option that it will remove
        for name, option in _by_name(was):
            if now[name] != option:
                sys.modules["pandas"].set_option(name, option)


def _by_name(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, option in options.items():
        if isinstance(option, dict):
            yield from _by_name(option, f"{above}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield above + name, option


def _is_as_options(was: Mapping[str, Any]) -> bool:
    return _raw_options() == was


_dict: Any = dict
"""Reads rcParams past their own access, which warns of old names and chooses a backend."""


def _parameters() -> tuple[dict[str, Any], bool]:
    """Copy rcParams, and tell whether a backend was loaded."""
    backend = getattr(sys.modules.get("matplotlib.pyplot"), "_backend_mod", None)
    return _with_own_lists(sys.modules["matplotlib"].rcParams), backend is not None


def _with_own_lists(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: v[:] if isinstance(v, list) else v for name, v in _dict.items(parameters)}


def _is_as_parameters(was: tuple[dict[str, Any], bool]) -> bool:
    return _dict.__eq__(sys.modules["matplotlib"].rcParams, was[0])


def with_inline(was: tuple[dict[str, Any], bool]) -> tuple[dict[str, Any], bool]:
    """Return what was noted, with what the import of the inline backend has set for good."""
    rc = sys.modules[INLINE].InlineBackend.instance().rc
    now = sys.modules["matplotlib"].rcParams
    return was[0] | {name: _dict.get(now, name) for name in ("interactive", *rc)}, was[1]


def _set_parameters(was: tuple[dict[str, Any], bool]) -> None:
    own, backend = sys.modules["matplotlib"].rcParams, was[0]["backend"]
    now = _dict.get(own, "backend")
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if not isinstance(backend, str):  # it was still to be chosen, and now it is
        backend = now
    elif now != backend and pyplot is not None:
        if was[1]:
            pyplot.switch_backend(backend)
        else:
            pyplot._backend_mod = None  # the person's first figure loads it
    _dict.update(own, {**_with_own_lists(was[0]), "backend": backend})


INLINE, PARAMETERS = "matplotlib_inline.backend_inline", "matplotlib rcParams"
OF_LIBRARIES = (
    Setting("numpy.random", "numpy.random", _numpy, _set_numpy, _is_as_numpy),
    Setting("pandas options", "pandas", _options, _set_options, _is_as_options),
    Setting(PARAMETERS, "matplotlib", _parameters, _set_parameters, _is_as_parameters),
)
