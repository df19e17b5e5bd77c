"""What all panels stand on: views, widgets, changes, and values as bounded JSON."""
