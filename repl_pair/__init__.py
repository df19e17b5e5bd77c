"""repl_pair: an agent works beside you in your live kernel."""

__version__ = "0.1.0"
