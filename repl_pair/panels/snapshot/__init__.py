"""The snapshot panel: outputs that wait for a decision."""
