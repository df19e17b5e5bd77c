"""The MCP server: a session's ops as tools; secrets are removed at its transport."""

from repl_pair.mcp_server.server import build
from repl_pair.mcp_server.stdio import run, serve

__all__ = ["build", "run", "serve"]
