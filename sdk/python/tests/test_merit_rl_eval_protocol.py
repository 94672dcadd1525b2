"""What of eval-protocol's rows reaches a reward, and which row gets what it says."""

import sys
import types
import unittest
from unittest import mock

from merit_rl.eval_protocol import evaluated_all
from merit_rl.results import Result


class Compares:
    """A reward that says how many members of a group follow one another."""

    def evaluate(self, trajectories):
        groups = [t["group"] for t in trajectories]
        for group in set(groups) - {""}:
            first = groups.index(group)
            assert groups[first : first + groups.count(group)] == [group] * groups.count(group), groups
        return [
            Result(t["id"], "scored", float(groups.count(g) if g else 1), [], {}, t["messages"][0]["content"], 0, {})
            for g, t in zip(groups, trajectories)
        ]


class Filled:
    """Stands in for the models of eval-protocol."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def row(name, text):
    given = types.SimpleNamespace(row_id=name, dataset_info=None, model_extra=None)
    return types.SimpleNamespace(
        messages=[{"role": "user", "content": text}], ground_truth=None, input_metadata=given, evaluation_result=None
    )


class EvalProtocolTest(unittest.TestCase):
    def test_rows_of_one_id_are_compared(self):
        # Promise: rows of one input are a group wherever they stand, those without an id are alone, and every row
        # gets its own result.
        models = types.ModuleType("eval_protocol.models")
        models.EvaluateResult = models.MetricResult = models.StepOutput = Filled
        rows = [row("a", "0"), row(None, "1"), row("b", "2"), row("a", "3"), row(None, "4"), row("a", "5")]
        package = types.ModuleType("eval_protocol")
        with mock.patch.dict(sys.modules, {"eval_protocol": package, "eval_protocol.models": models}):
            said = [r.evaluation_result for r in evaluated_all(rows, Compares())]
        self.assertEqual([r.score for r in said], [3, 1, 1, 3, 1, 3])
        self.assertEqual([r.reason for r in said], ["0", "1", "2", "3", "4", "5"])


if __name__ == "__main__":
    unittest.main()
