"""The help desk of a small shop, as an MCP server: python3 shop.py, or python3 shop.py PORT for HTTP.

It needs the package mcp (pip install mcp). Its data are made up, and kept in memory: a refund is
forgotten when the server exits.
"""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

ORDERS = {
    "1001": {"customer": "ada@example.org", "item": "teapot", "total": 31.5, "status": "delivered", "paid": "card", "gift": "no"},
    "1002": {"customer": "bo@example.org", "item": "kettle", "total": 48.0, "status": "shipped", "paid": "invoice", "gift": "no"},
    "1003": {"customer": "ada@example.org", "item": "cup", "total": 9.9, "status": "shipped", "paid": "card", "gift": "yes"},
    "1004": {"customer": "cy@example.org", "item": "tray", "total": 22.0, "status": "delivered", "paid": "invoice", "gift": "yes"},
    "1005": {"customer": "bo@example.org", "item": "spoon", "total": 4.2, "status": "delivered", "paid": "card", "gift": "yes"},
    "1006": {"customer": "cy@example.org", "item": "sieve", "total": 12.8, "status": "shipped", "paid": "invoice", "gift": "yes"},
    "1007": {"customer": "ada@example.org", "item": "scale", "total": 64.0, "status": "shipped", "paid": "card", "gift": "no"},
    "1008": {"customer": "cy@example.org", "item": "jar", "total": 7.5, "status": "delivered", "paid": "invoice", "gift": "no"},
}
refunded: dict[str, float] = {}

server = MCPServer("shop", version="1.0", instructions="You answer customers of a shop. Look orders up; never guess.")


def find(number: str) -> dict:
    if number not in ORDERS:
        raise ToolError(f"there is no order {number}")
    return ORDERS[number]


@server.tool()
def order(number: str) -> str:
    """Returns an order: what it is, its status, how it is paid, and whether it is a gift."""
    o = find(number)
    text = f"order {number}: {o['item']}, {o['total']:.2f} euros, status {o['status']}, paid by {o['paid']}, gift {o['gift']}"
    return text + (f", refunded {refunded[number]:.2f} euros" if number in refunded else "")


@server.tool()
def orders_of(customer: str) -> list[str]:
    """Returns the numbers of a customer's orders, by email address."""
    return [number for number, o in ORDERS.items() if o["customer"] == customer]


@server.tool()
def refund(number: str, euros: float) -> str:
    """Refunds a part of an order, at most its total."""
    total = find(number)["total"]
    if not 0 < euros <= total - refunded.get(number, 0):
        raise ToolError(f"at most {total - refunded.get(number, 0):.2f} euros of order {number} can be refunded")
    refunded[number] = refunded.get(number, 0) + euros
    return f"refunded {euros:.2f} euros of order {number}"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
