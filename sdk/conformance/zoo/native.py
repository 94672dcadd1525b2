"""Runs one reward of the zoo in plain CPython, called as its own trainer calls it.

It reads a JSON object from stdin: file, shape, calls (the function), data (the
rows), with (parameters) and by (group or columns: which rows come in one call). It prints one JSON list: for each row a
number, "nan", "inf" or "-inf", null for no score, or {"error": TYPE}.

Each function below restates, in our own words, how the named code calls a
reward; none of that code is here. Where a package is published, its own code is
held to the same scores by sdk/python/trainer_tests/test_zoo.py.
"""

import enum
import importlib.util
import inspect
import itertools
import json
import math
import numbers
import os
import sys
import types


def trl(f, rows):
    """TRL, GRPOTrainer._calculate_rewards: everything by keyword, a list for each column, None is NaN and left out."""
    columns = {k: [r[k] for r in rows] for k in rows[0] if k not in ("prompt", "completion")}
    given = {
        "prompts": [r["prompt"] for r in rows],
        "completions": [r["completion"] for r in rows],
        "completion_ids": [[0] * len(said(r["completion"]).split()) for r in rows],
        "trainer_state": types.SimpleNamespace(global_step=0, max_steps=1),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
        "environments": None,
    }
    return awaited(f(**given, **columns))


def verl(f, rows):
    """verl, NaiveRewardManager: one row at a time, by keyword; a dict has a score."""
    return [scored(awaited(f(**verl_row(r))), "score") for r in rows]


def verl_prime(f, rows):
    """verl, PrimeRewardManager: by position, in a worker; of a tuple the first counts."""

    def one(r):
        result = f(*verl_row(r).values())
        return float(result[0]) if isinstance(result, (tuple, list)) else scored(result, "score")

    return [one(r) for r in rows]


def verl_grader(f, rows):
    """verl, utils/reward_score/__init__.py: default_compute_score gives its graders the answer and the truth by position."""

    def one(r):
        result = f(said(r["completion"]), verl_row(r)["ground_truth"])
        return float(result[0]) if isinstance(result, (tuple, list)) else scored(result, "score")

    return [one(r) for r in rows]


def verl_batch(f, rows):
    """verl, BatchRewardManager: lists by keyword, each name with an s."""
    names = ("data_source", "solution_str", "ground_truth", "extra_info")
    lists = {n + "s": [verl_row(r)[n] for r in rows] for n in names}
    return [scored(s, "score") for s in f(**lists)]


def verl_row(r):
    return {"data_source": r.get("data_source", ""), "solution_str": said(r["completion"]), "ground_truth": truth(r), "extra_info": r.get("extra_info", {})}


def truth(r):
    """The ground truth, where the data set of each trainer has it."""
    for name in ("label", "ground_truth"):
        if r.get(name) is not None:
            return r[name]
    return (r.get("reward_model") or {}).get("ground_truth")


def openrlhf(f, rows):
    """OpenRLHF, SingleTurnAgentExecutor: lists of one by position; a dict has rewards."""
    out = []
    for r in rows:
        prompt = r["prompt"]
        result = awaited(f([prompt + r["completion"]], [prompt], [truth(r)]))
        if isinstance(result, dict):
            result = result["rewards"]
        out.append(result[0])
    return out


def verifiers(f, rows):
    """verifiers, Rubric._call_individual_reward_func: the names that it takes; what it raises becomes 0.0 there, and is an error here."""
    out = []
    for r in rows:
        state = {**r, "trajectory": []}
        merged = {k: v for k, v in r.items() if k not in ("prompt", "completion", "id")}
        merged.update(prompt=r["prompt"], completion=r["completion"], answer=answer(r), state=state, info=info(r), task=r.get("task", "default"), parser=None)
        out.append(float(awaited(f(**taken(f, merged)))))
    return out


def answer(r):
    return r["answer"] if "answer" in r else truth(r) or ""


def info(r):
    """verifiers' environments read info that is JSON as text."""
    value = r.get("info") or {}
    return json.loads(value) if isinstance(value, str) else value


def verifiers_group(f, rows):
    """verifiers, Rubric._call_group_reward_func: the same names in the plural."""
    merged = {f"{k}s": [r.get(k, "") for r in rows] for k in ("prompt", "completion", "answer", "task", "info")}
    merged["states"] = [dict(r) for r in rows]
    return awaited(f(**taken(f, merged)))


def rft(f, rows):
    """OpenAI's Python grader, of which only the documentation is public (guide "Graders", section "Python graders"): grade(sample, item)
    returns a number; item is the row, and sample has output_text, output_json, output_tools and choices."""
    out = []
    for r in rows:
        text, last = said(r["completion"]), messages(r)[-1]
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
        sample = {"output_text": text, "output_json": parsed, "output_tools": last.get("tool_calls") or [], "choices": [{"message": last}]}
        out.append(f(sample, {k: v for k, v in r.items() if k != "completion"}))
    return out


def swift(f, rows):
    """ms-swift, rl_core/grpo_algorithm.py: an instance of the class; completions are the texts of last messages, the columns lists, and beside them what it knows of a rollout."""
    batched = {k: [r[k] for r in rows] for k in rows[0] if k not in ("prompt", "completion")}
    batched.update(messages=[messages(r) for r in rows], finish_reason=[None] * len(rows), is_truncated=[False] * len(rows), rollout_infos=[{} for _ in rows])
    instance = f() if inspect.isclass(f) else f
    return awaited(instance([batched["messages"][i][-1]["content"] for i in range(len(rows))], trainer_state=None, **batched))


def slime(f, rows):
    """slime, async_rm in slime/rollout/rm_hub/__init__.py at commit 624b824a: await custom_rm(args, sample)."""
    from slime.utils.types import Sample

    out = []
    for i, r in enumerate(rows):
        label = truth(r)
        sample = Sample(index=i, prompt=r["prompt"], response=said(r["completion"]), label=label, metadata=r.get("metadata", {}))
        out.append(scored(awaited(f(types.SimpleNamespace(reward_key=None), sample)), "score"))
    return out


def skyrl(f, rows):
    """SkyRL-gym, the environments of skyrl_gym/envs: step() calls the grader with the action and the truth of reward_spec by position."""
    return [f(said(r["completion"]), r["reward_spec"]["ground_truth"]) for r in rows]


def nemo(f, rows):
    """NeMo RL, environments/rewards.py: the truth and the response by position; of the tuple the first is the score."""
    return [f(truth(r), said(r["completion"]))[0] for r in rows]


def easyr1(f, rows):
    """EasyR1, compute_reward_batch in verl/workers/reward/function.py at commit b44b311b: a list of inputs; every score is a dict with overall."""
    return [s["overall"] for s in f([easyr1_input(r) for r in rows])]


def easyr1_sequential(f, rows):
    """EasyR1, compute_reward_sequential in the same file: one input at a time."""
    return [f(easyr1_input(r))["overall"] for r in rows]


def easyr1_input(r):
    text = said(r["completion"])
    return {"response": text, "response_length": len(text.split()), "ground_truth": truth(r)}


def areal(f, rows):
    """AReaL, workflow/rlvr.py: prompt and completion as texts and as tokens by position, the row by keyword."""
    return [f(r["prompt"], said(r["completion"]), [0], [0], **{k: v for k, v in r.items() if k not in ("prompt", "completion")}) for r in rows]


def merit(f, rows):
    """reward-kit, eval-protocol and Merit: messages, ground_truth and the columns by name."""
    out = []
    for r in rows:
        offered = {**(r.get("metadata") or {}), **{k: v for k, v in r.items() if k not in ("prompt", "completion", "id", "group", "task")}}
        offered.update(messages=[Message(m) for m in messages(r)], ground_truth=r.get("ground_truth"), metadata=r.get("metadata") or {})
        if "row" in inspect.signature(f).parameters:
            result = f(row=Row(messages=offered["messages"], ground_truth=offered["ground_truth"])).evaluation_result
        else:
            result = awaited(f(**taken(f, offered)))
        out.append(merit_score(result))
    return out


def merit_group(f, rows):
    """reward-kit's batch mode: the conversations and truths of a group."""
    members = [[Message(m) for m in messages(r)] for r in rows]
    return [merit_score(x) for x in f(rollouts_messages=members, ground_truth=rows[0].get("ground_truth"), ground_truths=[r.get("ground_truth") for r in rows])]


def merit_score(result):
    if isinstance(result, (Bag, dict)):
        get = result.get if isinstance(result, dict) else lambda k, d=None: getattr(result, k, d)
        if get("error"):
            return {"error": "error"}
        return get("score") if get("is_score_valid", True) is not False else None
    return result


# What the functions above share.


def said(completion):
    """What a trainer decodes: the text of what the assistant said."""
    if isinstance(completion, str):
        return completion
    return "\n".join(text(m.get("content")) for m in completion if m["role"] == "assistant")


def text(content):
    if isinstance(content, list):
        return "".join(p.get("text", "") for p in content if p.get("type") == "text")
    return content or ""


def messages(r):
    if "messages" in r:
        return r["messages"]
    prompt, completion = r["prompt"], r["completion"]
    prompt = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return prompt + ([{"role": "assistant", "content": completion}] if isinstance(completion, str) else completion)


def taken(f, merged):
    parameters = inspect.signature(f).parameters
    if any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        return merged
    return {k: v for k, v in merged.items() if k in parameters}


def awaited(value):
    if not inspect.isawaitable(value):
        return value
    import asyncio  # takes as long to import as most rewards take

    return asyncio.run(value)


def scored(result, key):
    return result[key] if isinstance(result, dict) else result


class Bag:
    """A result or a row of reward-kit: any fields."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Row(Bag):
    def last_assistant_message(self):
        return next((m for m in reversed(self.messages) if m.role == "assistant"), None)


class Message(dict):
    """A message with its keys as attributes."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    @property
    def text(self):
        return text(self.get("content"))


def decorator(*args, **_options):
    return args[0] if args and callable(args[0]) else lambda f: f


def stand_ins():
    """The few names that reward files import from their trainer."""

    class Status(enum.Enum):
        COMPLETED = "completed"

    class Sample(Bag):
        pass

    class ORM:
        def __init__(self, *_args, **_kwargs):
            pass

        def __call__(self, **_kwargs):
            raise NotImplementedError

    Sample.Status = Status
    kit = dict(reward_function=decorator, evaluation_test=decorator, EvaluationRow=Row, Message=Message)
    kit.update({n: Bag for n in ("EvaluateResult", "MetricResult", "StepOutput", "NoOpRolloutProcessor")})
    modules = {
        "slime.utils.types": {"Sample": Sample},
        "swift.plugin": {"ORM": ORM, "orms": {}},
        "swift.rewards": {"ORM": ORM, "AsyncORM": ORM, "orms": {}},
        "verifiers": {"Rubric": Bag, "SingleTurnEnv": Bag},
        "reward_kit": kit,
        "reward_kit.models": kit,
        "eval_protocol": kit,
        "eval_protocol.pytest": kit,
        "merit_reward": kit,
    }
    for name, contents in modules.items():
        while name:
            module = sys.modules.setdefault(name, types.ModuleType(name))
            module.__path__ = []
            module.__dict__.update(contents)
            name, contents = name.rpartition(".")[0], {}


def load(path):
    stand_ins()
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("reward_under_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["reward_under_test"] = module  # dataclasses and pickles look there
    spec.loader.exec_module(module)
    return module


def number(value):
    """A score as JSON can hold it; what no trainer takes as a number is an error."""
    if value is None or isinstance(value, dict):
        return value
    if not isinstance(value, numbers.Number) and not hasattr(value, "__float__") or isinstance(value, str):
        return {"error": "TypeError"}
    value = float(value)
    return value if math.isfinite(value) else str(value)


def attempt(shape, f, rows):
    try:
        results = list(shape(f, rows))
        if len(results) != len(rows):
            raise ValueError(f"{len(results)} scores for {len(rows)} rows")
        return [number(v) for v in results]
    except Exception as e:
        return [{"error": type(e).__name__}] if len(rows) == 1 else [attempt(shape, f, [r])[0] for r in rows]


def main():
    spec = json.load(sys.stdin)
    said_by_reward, sys.stdout = sys.stdout, sys.stderr
    with open(spec["data"]) as lines:
        rows = [json.loads(line) for line in lines]
    try:
        function = getattr(load(spec["file"]), spec["calls"])
    except Exception as e:
        print(json.dumps([{"error": type(e).__name__}] * len(rows)), file=said_by_reward)
        return
    if spec.get("with"):
        import functools

        function = functools.partial(function, **spec["with"])
    groups = [rows]
    if spec["by"] == "group":
        groups = [list(g) for _, g in itertools.groupby(rows, key=lambda r: r.get("group"))]
    elif spec["by"] == "columns":  # a data set's rows have the same columns
        groups = [list(g) for _, g in itertools.groupby(rows, key=lambda r: sorted(r))]
    print(json.dumps([s for g in groups for s in attempt(globals()[spec["shape"]], function, g)]), file=said_by_reward)


if __name__ == "__main__":
    main()
