import sqlglot
from sqlglot.diff import Keep, diff
from sqlglot.errors import ParseError


def reward(messages, ground_truth):
    """The share of the query's parts that are the same as in the expected query."""
    try:
        said = sqlglot.parse_one(messages[-1]["content"])
    except ParseError:
        return 0.0
    edits = diff(sqlglot.parse_one(ground_truth), said)
    return sum(isinstance(e, Keep) for e in edits) / len(edits)
