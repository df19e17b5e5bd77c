"""The registry explorer."""
