"""Reads the conversation and how it ended from kwargs, as ms-swift's own plug-ins do."""
from swift.rewards import ORM, orms


class LastTurn(ORM):
    def __call__(self, completions, **kwargs):
        scores = []
        for messages, completion, cut, solution in zip(kwargs["messages"], completions, kwargs["is_truncated"], kwargs["solution"]):
            assert messages[-1]["content"] == completion
            question = messages[-2]["content"]
            scores.append(float(solution.strip("$") in completion) + 0.01 * len(question) - 0.5 * cut)
        return scores


orms["last_turn"] = LastTurn
