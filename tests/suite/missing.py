"""What a test does where something that it needs is not on this machine."""

import os
from typing import NoReturn

import pytest


def miss(why: str) -> NoReturn:
    """Skip; but what is installed for CI may not be missing there."""
    pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
