"""The operations, a file a group."""
