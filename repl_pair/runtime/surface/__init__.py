"""What can be looked at in a kernel: members as data, and the one store of their values."""
