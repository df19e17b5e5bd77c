"""What one run would do, who wrote which part of it, and its identity."""
