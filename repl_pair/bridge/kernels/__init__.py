"""Which kernels there are, and which one is meant."""
