"""What an app publishes of itself: live values and functions, hidden unless exposed."""
