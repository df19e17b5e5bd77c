"""The agent panel: who is attached, what they called, and what waits for approval."""
