"""What runs inside the kernel: registries, runner, identity, egress and the op table.

Imports the standard library only; importing this package makes the whole runtime ready.
"""

from repl_pair.runtime import ops, vocabulary

__all__ = ["ops", "vocabulary"]
