"""What a person writes, and what an agent may write."""
