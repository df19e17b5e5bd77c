"""Notebooks under pytest: variants that cells show, beside nbval or run by the package itself."""
