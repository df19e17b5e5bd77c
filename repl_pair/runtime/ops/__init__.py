"""The built-in operations, a file a group; importing this package fills the table."""

from repl_pair.runtime.ops import catalogue, changes, running, variables, verdicts

__all__ = ["catalogue", "changes", "running", "variables", "verdicts"]
