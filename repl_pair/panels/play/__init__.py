"""The play panel: a walk through the lines of a run."""
