"""Runs sdk/python/examples/gsm8k.py in this interpreter, without a sandbox, and
prints the nanoseconds of one call with the conversation at hand, and of one that
parses it from JSON and writes its result as JSON. The argument is the
conversation."""

import json
import sys
import time

from answer import answer
from merit_reward import runner

with open(sys.argv[1], "rb") as file:
    line = file.read()


def call(rollout):
    return answer(messages=rollout["messages"], ground_truth=rollout["ground_truth"])


def through_json():
    return json.dumps({"score": call(runner.rollout(json.loads(line))).score})


def nanoseconds(function, rounds=2000, batches=10):
    best = None
    for _ in range(batches):
        begin = time.perf_counter_ns()
        for _ in range(rounds):
            function()
        took = (time.perf_counter_ns() - begin) / rounds
        best = took if best is None else min(best, took)
    return best


rollout = runner.rollout(json.loads(line))
assert call(rollout).score == 1.0
print(nanoseconds(lambda: call(rollout)), nanoseconds(through_json))
