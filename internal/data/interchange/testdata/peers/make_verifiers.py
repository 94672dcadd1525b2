"""Writes verifiers.jsonl, the traces.jsonl of verifiers 0.4.0, with its own classes and its own
writer: episodes of one group, one with a rewritten history, one with two answers, and one that failed.

    pip install verifiers==0.4.0 && python make_verifiers.py
"""

import os
import tempfile
from pathlib import Path

from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.episode import EnvInfo, Episode, GroupInfo
from verifiers.v1.graph import MessageNode
from verifiers.v1.task import WireTaskData
from verifiers.v1.trace import AgentInfo, Error, ModelCall, Reward, Trace, TraceTask, VersionInfo
from verifiers.v1.types import AssistantMessage, ToolCall, ToolMessage, UserMessage
from verifiers.v1.utils.trace_store import TRACES_FILE, write_episode

task = TraceTask(type="Sums", key="sum-1", hash="8f14e45f", data=WireTaskData(idx=0, prompt="What is 3 + 4?", answer="7"))


def trace(name, nodes, rewards, **more):
    calls = [ModelCall(node=i, model="qwen3-8b", finish_reason="stop") for i, n in enumerate(nodes) if n.sampled]
    return Trace(
        id=name, verifiers=VersionInfo(version="0.4.0"), task=task, agent=AgentInfo(config=WireAgentConfig()), nodes=nodes, calls=calls, rewards=rewards,
        metrics={"turns": float(len(calls))}, is_completed=True, **more,
    )


def node(parent, message, ids=(), mask=(), logprobs=(), **more):
    return MessageNode(parent=parent, message=message, timestamp=1764200000.0, token_ids=list(ids), mask=list(mask), logprobs=list(logprobs), **more)


call = ToolCall(id="c1", name="add", arguments='{"a": 3, "b": 4}')
first = trace(
    "t1",
    [
        node(None, UserMessage(content="What is 3 + 4?"), [1, 2, 3], [False] * 3),
        node(0, AssistantMessage(content=None, reasoning_content="I add.", tool_calls=[call]), [4, 11, 12], [False, True, True], [-0.5, -0.25], sampled=True),
        node(1, ToolMessage(tool_call_id="c1", content="7"), [5, 6], [False] * 2),
        node(2, AssistantMessage(content="7"), [4, 13], [False, True], [-0.125], sampled=True),
    ],
    {"exact": Reward(score=1.0), "short": Reward(score=0.5, weight=0.2)},
    ok=True,
    stop_condition="agent_completed",
)
second = trace(
    "t2",
    [
        node(None, UserMessage(content="What is 3 + 4?"), [1, 2, 3], [False] * 3),
        node(0, AssistantMessage(content="Let me see."), [4, 21], [False, True], [-1.0], sampled=True),
        node(1, UserMessage(content="Well?"), [7], [False]),
        node(2, AssistantMessage(content="8"), [4, 22], [False, True], [-2.0], sampled=True),
        node(1, UserMessage(content="Summary: nothing yet."), [8], [False]),
        node(4, AssistantMessage(content="9"), [4, 23], [False, True], [-3.0], sampled=True),
    ],
    {"exact": Reward(score=0.0), "short": Reward(score=1.0, weight=0.2)},
    ok=True,
)
again = trace(
    "t4",
    [
        node(None, UserMessage(content="What is 3 + 4?"), [1, 2, 3], [False] * 3),
        node(0, AssistantMessage(content="I add."), [4, 30], [False, True], [-0.5], sampled=True),
        node(1, UserMessage(content="And?"), [9], [False]),
        node(2, AssistantMessage(content="7"), [4, 31], [False, True], [-1.0], sampled=True),
        node(2, AssistantMessage(content="8"), [4, 32], [False, True], [-2.0], sampled=True),
    ],
    {"exact": Reward(score=1.0), "short": Reward(score=0.0, weight=0.2)},
    ok=True,
)
failed = trace("t3", [node(None, UserMessage(content="What is 3 + 4?"))], {"exact": None}, ok=False, errors=[Error(type="ProviderError", message="no answer")])

with tempfile.TemporaryDirectory() as folder:
    for name, one in [("e1", first), ("e2", second), ("e4", again), ("e3", failed)]:
        episode = Episode(id=name, env=EnvInfo(id="sums"), task=task, group=GroupInfo(id="g1"), ok=one.ok, traces=[one])
        write_episode(Path(folder), episode)
    os.replace(Path(folder) / TRACES_FILE, "verifiers.jsonl")
