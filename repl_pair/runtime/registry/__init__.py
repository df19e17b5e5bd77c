"""What is registered, from where, what a variant takes over, and what a view sees."""
