"""What a kernel shows of itself: objects, errors, stacks, history; no code of the person runs."""
