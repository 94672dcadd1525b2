"""A client of the PyPI package mcp: lists and calls the tools of a server, and prints what it gets.

client.py MODE URL|COMMAND... -- CALL..., where a call is TOOL=ARGUMENTS.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

cut = sys.argv.index("--")
mode, server, calls = sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1 :]
target = server[0] if server[0].startswith("http") else StdioServerParameters(command=server[0], args=server[1:])


async def main():
    async with Client(target, mode=mode, read_timeout_seconds=60) as client:
        about = {"version": client.protocol_version, "server": getattr(client.server_info, "name", ""), "instructions": client.instructions}
        print(json.dumps(about))
        tools = await client.list_tools()
        print(json.dumps([tool.name for tool in tools.tools]))
        for call in calls:
            name, _, arguments = call.partition("=")
            try:
                result = await client.call_tool(name, json.loads(arguments))
                print(json.dumps({"error": bool(result.is_error), "text": result.content[0].text, "value": result.structured_content}))
            except Exception as e:  # an error of the protocol
                print(json.dumps({"refused": str(e)}))


asyncio.run(main())
