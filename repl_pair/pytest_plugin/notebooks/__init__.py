"""Notebooks under pytest: variants that cells show, beside nbval or behind our own runner."""
