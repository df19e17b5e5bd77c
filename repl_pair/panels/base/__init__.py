"""The base of all panels: views, widgets, changes, and values as bounded JSON."""
