"""The MCP server: a session's ops as tools; secrets are removed at its transport."""
