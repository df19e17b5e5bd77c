"""Sets up an agent's client: its entry for the server, tokens, checks, and the agent's guide."""
