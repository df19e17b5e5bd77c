"""Who is attached, what they called, and what the person allows."""
