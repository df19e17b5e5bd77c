"""The review panel: what people and agents remark on, next to its target."""
