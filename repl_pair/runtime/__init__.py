"""What runs inside the kernel: registries, runner, identity, egress and the op table.

Imports the standard library only. Importing this package makes it ready to register; running and
answering are imported at their first use.
"""

from repl_pair.runtime import shipped

__all__ = ["shipped"]
