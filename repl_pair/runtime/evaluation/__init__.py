"""Code that an agent sends, run in the person's namespace, its output and what it changed."""
