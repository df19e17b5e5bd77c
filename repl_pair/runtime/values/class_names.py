"""How a play names the class of an exception or a warning, and which classes that name means."""

import builtins


def short_class_name(cls: type) -> str:
    """Return the name of a class; with its module where it would mean a builtin class of that name.

    The module is left out else, for the module of a stories file has another name where another
    face loads it.
    """
    name = cls.__name__
    if getattr(builtins, name, cls) is cls:
        return name
    return f"{cls.__module__}.{cls.__qualname__}"


def is_named(cls: type, name: str) -> bool:
    """Return whether a class or one of its bases has a name, with its module or without.

    The name of a builtin class means that class alone.
    """
    if isinstance(builtin := getattr(builtins, name, None), type):
        return builtin in cls.__mro__
    return any(name in (c.__name__, f"{c.__module__}.{c.__qualname__}") for c in cls.__mro__)
