"""The MCP face: a session's ops as tools of one server, scrubbed at its transport."""

import gc

# The SDK brings 700 modules in; collecting meanwhile is a tenth of the server's start.
_collecting = gc.isenabled()
gc.disable()
try:
    from repl_pair.mcp_server.server import build
    from repl_pair.mcp_server.stdio import run, serve
finally:
    if _collecting:
        gc.enable()

__all__ = ["build", "run", "serve"]
