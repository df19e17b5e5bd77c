"""What does not fit together among what is registered; no variant is run for it."""
