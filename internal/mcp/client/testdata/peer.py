"""A server of the PyPI package mcp: over stdio, or over HTTP at the port that it prints."""

import asyncio
import os
import socket
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("peer", version="1.2", instructions="Counts.")
count = 0


@server.tool()
def add(by: int = 1) -> int:
    """Adds to the count and returns it."""
    global count
    count += by
    return count


@server.tool()
def fail(why: str) -> str:
    """Fails."""
    raise ToolError(why)


@server.tool()
async def sleep(seconds: float) -> str:
    """Answers late."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
def crash() -> str:
    """Ends the process."""
    print("the disk is gone", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def long(size: int) -> str:
    """Returns a long text."""
    return "ä" * size


if len(sys.argv) > 1:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    print(port, flush=True)
    server.run("streamable-http", host="127.0.0.1", port=port, json_response=sys.argv[1] == "json")
else:
    server.run()
