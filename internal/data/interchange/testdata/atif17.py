"""A second implementation of the rules of ATIF 1.7, made to Harbor's RFC 0001 and to what its
validator of version 0.20 refuses. It names every document of a folder that is not valid."""

import datetime
import json
import os
import sys

TEXT, OBJECT, LIST, WHOLE, NUMBER, TRUTH = (str,), (dict,), (list,), (int,), (int, float), (bool,)
FIELDS = {
    "trajectory": dict(schema_version=TEXT, session_id=TEXT, trajectory_id=TEXT, agent=OBJECT, steps=LIST, notes=TEXT, final_metrics=OBJECT,
                       continued_trajectory_ref=TEXT, extra=OBJECT, subagent_trajectories=LIST),
    "agent": dict(name=TEXT, version=TEXT, model_name=TEXT, tool_definitions=LIST, extra=OBJECT),
    "step": dict(step_id=WHOLE, timestamp=TEXT, source=TEXT, model_name=TEXT, reasoning_effort=TEXT + NUMBER, message=TEXT + LIST, reasoning_content=TEXT,
                 tool_calls=LIST, observation=OBJECT, metrics=OBJECT, is_copied_context=TRUTH, llm_call_count=WHOLE, extra=OBJECT),
    "call": dict(tool_call_id=TEXT, function_name=TEXT, arguments=OBJECT, extra=OBJECT),
    "observation": dict(results=LIST),
    "result": dict(source_call_id=TEXT, content=TEXT + LIST, subagent_trajectory_ref=LIST, extra=OBJECT),
    "ref": dict(trajectory_id=TEXT, session_id=TEXT, trajectory_path=TEXT, extra=OBJECT),
    "metrics": dict(prompt_tokens=WHOLE, completion_tokens=WHOLE, cached_tokens=WHOLE, cost_usd=NUMBER, prompt_token_ids=LIST, completion_token_ids=LIST,
                    logprobs=LIST, extra=OBJECT),
    "final": dict(total_prompt_tokens=WHOLE, total_completion_tokens=WHOLE, total_cached_tokens=WHOLE, total_cost_usd=NUMBER, total_steps=WHOLE, extra=OBJECT),
    "part": dict(type=TEXT, text=TEXT, source=OBJECT),
    "source": dict(media_type=TEXT, path=TEXT),
}
NEEDED = {"trajectory": ["agent", "steps"], "agent": ["name", "version"], "step": ["step_id", "source", "message"],
          "call": ["tool_call_id", "function_name", "arguments"], "observation": ["results"], "part": ["type"], "source": ["media_type", "path"]}


def need(truth, what):
    if not truth:
        raise ValueError(what)


def shape(kind, value):
    need(isinstance(value, dict), f"{kind} is not an object")
    for name, member in value.items():
        need(name in FIELDS[kind], f"{kind} has the unknown member {name}")
        if member is not None:
            fits = isinstance(member, FIELDS[kind][name]) and (not isinstance(member, bool) or FIELDS[kind][name] == TRUTH)
            need(fits, f"{kind}.{name} is {type(member).__name__}")
    for name in NEEDED.get(kind, []):
        need(value.get(name) is not None, f"{kind} needs {name}")


def content(value):
    for part in value if isinstance(value, list) else []:
        shape("part", part)
        text, source = part.get("text"), part.get("source")
        need(part["type"] in ("text", "image"), "a part is neither text nor image")
        need((text is None) == (part["type"] == "image") and (source is None) == (part["type"] == "text"), "a part has the wrong member")
        if source:
            shape("source", source)
            need(source["media_type"] in ("image/jpeg", "image/png", "image/gif", "image/webp"), "media_type")


def step(value, number):
    shape("step", value)
    need(value["step_id"] == number, f"step_id {value['step_id']} instead of {number}")
    need(value["source"] in ("system", "user", "agent"), "source")
    if value.get("timestamp"):
        datetime.datetime.fromisoformat(value["timestamp"].replace("Z", "+00:00"))
    for name in ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"):
        need(value["source"] == "agent" or value.get(name) is None, f"{name} of a step that is not the agent's")
    if value.get("llm_call_count") == 0:
        need(value.get("metrics") is None and value.get("reasoning_content") is None, "metrics without a call of the model")
    content(value["message"])
    calls = set()
    for call in value.get("tool_calls") or []:
        shape("call", call)
        calls.add(call["tool_call_id"])
    if value.get("observation"):
        shape("observation", value["observation"])
        for result in value["observation"]["results"]:
            shape("result", result)
            content(result.get("content"))
            need(result.get("source_call_id") is None or result["source_call_id"] in calls, "source_call_id of no call of the step")
            for ref in result.get("subagent_trajectory_ref") or []:
                shape("ref", ref)
                need(ref.get("trajectory_id") is not None or ref.get("trajectory_path") is not None, "a reference that cannot be resolved")
    if value.get("metrics"):
        shape("metrics", value["metrics"])
        for name in ("prompt_token_ids", "completion_token_ids"):
            need(all(type(x) is int for x in value["metrics"].get(name) or []), name)
        need(all(type(x) in (int, float) for x in value["metrics"].get("logprobs") or []), "logprobs")


def trajectory(value):
    shape("trajectory", value)
    need(value.get("schema_version") == "ATIF-v1.7", "schema_version")
    shape("agent", value["agent"])
    need(value["steps"], "no steps")
    for i, one in enumerate(value["steps"]):
        step(one, i + 1)
    if value.get("final_metrics"):
        shape("final", value["final_metrics"])
    seen = set()
    for sub in value.get("subagent_trajectories") or []:
        trajectory(sub)
        need(sub.get("trajectory_id") is not None and sub["trajectory_id"] not in seen, "trajectory_id of a sub-agent")
        seen.add(sub["trajectory_id"])


wrong = 0
for folder, _, files in os.walk(sys.argv[1]):
    for name in sorted(files):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                trajectory(json.load(f))
        except ValueError as e:
            wrong += 1
            print(f"{name}: {e}")
sys.exit(wrong > 0)
