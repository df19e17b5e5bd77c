"""Code that an agent sends, run in the person's namespace, and what it put out and changed."""
