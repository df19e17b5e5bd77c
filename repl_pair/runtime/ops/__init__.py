"""The table of operations, and the operations, a file a group."""
