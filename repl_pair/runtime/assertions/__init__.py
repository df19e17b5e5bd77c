"""What an assertion sees, and how values compare."""
