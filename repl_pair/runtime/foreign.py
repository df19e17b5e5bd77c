"""Types of libraries that are recognised where they are loaded and never imported for it."""

import sys
from typing import Any

_PLAIN = frozenset((type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset))
_SECRET_NAMES = frozenset({"SecretStr", "SecretBytes", "Secret", "_SecretBase"})


def instance_of(value: Any, module: str, *names: str) -> bool:
    """Tell whether `value` is an instance of one of the module's classes, if that is loaded."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    classes = (getattr(loaded, name, None) for name in names)
    return isinstance(value, tuple(c for c in classes if isinstance(c, type)))


def is_plain_class(cls: Any) -> bool:
    """Tell whether `cls` is one of the builtin classes of data, the answer for most values."""
    return type(cls) is type and cls in _PLAIN


def is_array(value: Any) -> bool:
    """Tell whether `value` is a numpy array."""
    return instance_of(value, "numpy", "ndarray")


def is_array_scalar(value: Any) -> bool:
    """Tell whether `value` is a numpy scalar, immutable."""
    return instance_of(value, "numpy", "generic")


def is_frame(value: Any) -> bool:
    """Tell whether `value` is a pandas frame."""
    return instance_of(value, "pandas", "DataFrame")


def is_series(value: Any) -> bool:
    """Tell whether `value` is a pandas series."""
    return instance_of(value, "pandas", "Series")


def is_labels(value: Any) -> bool:
    """Tell whether `value` is a pandas index."""
    return instance_of(value, "pandas", "Index")


def is_pandas_scalar(value: Any) -> bool:
    """Tell whether `value` is a moment, span or missing mark of pandas, immutable."""
    named = instance_of(value, "pandas", "Timestamp", "Timedelta", "Period", "Interval")
    pandas = sys.modules.get("pandas")
    missing = (getattr(pandas, "NaT", None), getattr(pandas, "NA", None))
    return named or (value is not None and any(value is m for m in missing))


def is_model_class(cls: Any) -> bool:
    """Tell whether `cls` is a pydantic model."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return isinstance(base, type) and isinstance(cls, type) and issubclass(cls, base)


def is_secret_class(cls: Any) -> bool:
    """Tell whether `cls` is one of pydantic's secret types or derives from one."""
    if not isinstance(cls, type) or is_plain_class(cls):
        return False
    names = ((c.__module__, c.__name__) for c in cls.__mro__)
    return any(n in _SECRET_NAMES and m.split(".")[0] == "pydantic" for m, n in names)
