"""What was too large for one reply, kept redacted for reading on."""

from repl_pair.runtime.handles import Handles

HANDLES = Handles()
"""The readings of this process."""
