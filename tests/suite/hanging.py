"""Ends a process in which a test hangs, with the stack of each of its threads on stderr.

pytest-timeout raises in the test once. It watches no longer what comes then: a `finally` of the
test, or the end of a fixture.
"""

import faulthandler
import os
import sys

import pytest

HANGS_S = 900
"""Longer than the `timeout` of pyproject.toml, after which the test itself fails."""


class Hanging:
    """A plugin of pytest; pytest-xdist replaces a process that ends, and its test has failed."""

    def pytest_configure(self):
        self.stderr = os.dup(sys.__stderr__.fileno())  # that of a test is captured

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        self._watch()
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self):
        self._watch()  # pytest has ended it, for a debugger that might be opened here

    def _watch(self):
        faulthandler.dump_traceback_later(HANGS_S, exit=True, file=self.stderr)
