"""The operations of a kernel: the table, what an op may know, and a room a group of ops."""
