"""The words that run pytest with the plugins that a run needs: to load all takes twice its time.

Where a test shows something of the plugin among all that are installed, it runs pytest without
these words.
"""

NEEDING = {"--nbval": "nbval", "-n": "xdist"}


def lean(arguments):
    """Return words that go before those of a run."""
    needed = [name for flag, name in NEEDING.items() if _has(arguments, flag)]
    ours = [] if "no:repl_pair" in arguments else ["repl_pair"]
    return ["--disable-plugin-autoload", *_each("-p", ours + needed)]


def _has(arguments, flag):
    return any(word.startswith(flag) for word in arguments)


def _each(flag, names):
    return [word for name in names for word in (flag, name)]
