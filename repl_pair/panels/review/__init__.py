"""The review panel: what people and agents remark on, beside what it speaks of."""
