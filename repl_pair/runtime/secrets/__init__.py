"""Which secrets there are, where they stand, and what leaves the kernel."""
