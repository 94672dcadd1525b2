"""How each trainer calls a reward, in its own published code: a function from a reward and rows to scores.

Only what stands around that code is imitated: a tokenizer with one token a
character, and modules of ms-swift and AReaL that load models or a cluster.
"""

import asyncio
import importlib
import inspect
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import MagicMock

import native  # of the zoo: how a row becomes what a trainer has


class Stub(types.ModuleType):
    """A module that is not needed: whatever is taken of it can be called, and does nothing."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


def bare(*packages):
    """Packages whose modules can be imported, without their own __init__, which would load all of them."""
    for name in packages:
        if name not in sys.modules:
            parent, _, last = name.rpartition(".")
            paths = sys.modules[parent].__path__ if parent else sys.path
            made = sys.modules[name] = types.ModuleType(name)
            made.__path__ = [f"{p}/{last}" for p in paths]


def stubs(*names, **given):
    for name in names:
        made = sys.modules[name] = Stub(name)
        made.__dict__.update(given)


class Characters:
    """A tokenizer with one token a character, so that decoding gives back every text."""

    def __call__(self, text=None, **_options):
        import torch

        return {"input_ids": torch.tensor([[*map(ord, text)]])}

    def decode(self, ids, **_options):
        return "".join(chr(int(i)) for i in ids)


TOKENS = Characters()


def columns(row, *taken):
    return {k: v for k, v in row.items() if k not in ("prompt", "completion", "messages", *taken)}


def trl(f, rows, _path):
    """TRL, GRPOTrainer._calculate_rewards."""
    import torch
    from accelerate import PartialState
    from trl import GRPOTrainer

    PartialState()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    trainer = types.SimpleNamespace(
        accelerator=types.SimpleNamespace(device=torch.device("cpu"), is_main_process=True),
        reward_funcs=[f],
        reward_processing_classes=[None],
        reward_func_names=["f"],
        state=types.SimpleNamespace(global_step=0, max_steps=1),
        args=types.SimpleNamespace(report_to=[]),
        _log_completion_extra=lambda *_: None,
        _log_metric=lambda *_: None,
        environments=None,
        async_loop=loop,
    )
    prompts, completions = [r["prompt"] for r in rows], [r["completion"] for r in rows]
    ids = [[0] * len(native.said(c).split()) for c in completions]
    try:
        return GRPOTrainer._calculate_rewards(trainer, rows, prompts, completions, ids)[:, 0].tolist()
    finally:
        loop.call_soon_threadsafe(loop.stop)


def batch(rows):
    """Rows as verl has them: prompt and answer as tokens."""
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    given = [native.verl_row(r) for r in rows]
    answers = [[*map(ord, g["solution_str"])] for g in given]
    width = max(map(len, answers)) + 1
    listed = lambda values: np.array([*values, None], dtype=object)[:-1]  # noqa: E731
    return DataProto(
        batch=TensorDict(
            {
                "prompts": torch.full((len(rows), 2), 65),
                "responses": torch.tensor([a + [0] * (width - len(a)) for a in answers]),
                "attention_mask": torch.tensor([[1, 1] + [1] * len(a) + [0] * (width - len(a)) for a in answers]),
            },
            batch_size=len(rows),
        ),
        non_tensor_batch={
            "data_source": listed(g["data_source"] for g in given),
            "reward_model": listed({"ground_truth": g["ground_truth"]} for g in given),
            "extra_info": listed(dict(g["extra_info"] or {}) for g in given),
        },
    )


def verl(f, rows, _path):
    """verl, NaiveRewardManager of its reward loop, which awaits asynchronous functions and runs others in threads."""
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

    data = batch(rows)

    async def run():
        manager = NaiveRewardManager(OmegaConf.create({}), TOKENS, f)
        manager.loop = asyncio.get_running_loop()
        return [(await manager.run_single(data[i : i + 1]))["reward_score"] for i in range(len(rows))]

    return asyncio.run(run())


def verl_batch(f, rows, _path):
    """verl, BatchRewardManager."""
    from verl.workers.reward_manager import BatchRewardManager

    return BatchRewardManager(TOKENS, 0, f)(batch(rows)).sum(-1).tolist()


def verl_prime(f, rows, _path):
    """verl, PrimeRewardManager's call of one answer, in a thread and not in a process."""
    from verl.workers.reward_manager.prime import single_compute_score

    async def run():
        with ThreadPoolExecutor(1) as executor:
            given = [native.verl_row(r) for r in rows]
            names = ("solution_str", "ground_truth", "data_source", "extra_info")
            return [await single_compute_score(f, *(g[n] for n in names), executor) for g in given]

    return [float(r[0]) if isinstance(r, (tuple, list)) else r for r in asyncio.run(run())]


def openrlhf(_f, rows, path):
    """OpenRLHF, SingleTurnAgentExecutor, which loads the file itself; it reads a dict only."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(path)
    params = types.SimpleNamespace(max_tokens=8, logprobs=None)

    class Engine:
        async def generate(self, *_given, **_named):
            said = types.SimpleNamespace(token_ids=[*map(ord, row["completion"])], finish_reason="stop", logprobs=None)
            return types.SimpleNamespace(outputs=[said])

    scores = []
    for row in rows:
        run = executor.execute(row["prompt"], native.truth(row), params, 1 << 20, TOKENS, Engine())
        scores.append(asyncio.run(run)["reward"][0])
    return scores


def state(row):
    import verifiers as vf

    more = columns(row, "answer", "task", "info")
    known = {"prompt": row["prompt"], "completion": row["completion"], "answer": native.answer(row), "info": native.info(row)}
    return vf.State(**more, **known, task=row.get("task", "default"), trajectory=[], timing={"scoring_ms": 0.0, "total_ms": 0.0})


def verifiers(f, rows, _path):
    """verifiers, Rubric.score_rollout, which counts an exception as 0.0."""
    import verifiers as vf

    states = [state(r) for r in rows]
    for s in states:
        asyncio.run(vf.Rubric(funcs=[f]).score_rollout(s))
    return [s["reward"] for s in states]


def verifiers_group(f, rows, _path):
    """verifiers, Rubric.score_group."""
    import verifiers as vf

    states = [state(r) for r in rows]
    asyncio.run(vf.Rubric(funcs=[f]).score_group(states))
    return [s["reward"] for s in states]


def ready_swift():
    """ms-swift's code around rewards, without what loads models; and swift.plugin, where it had its rewards before version 4."""
    if "swift.rl_core" in sys.modules:
        return
    bare("swift", "swift.dataset", "swift.rl_core", "swift.rewards")
    stubs("dacite", "modelscope", "modelscope.hub", "modelscope.hub.utils", "modelscope.hub.utils.utils", "swift.infer_engine")
    stubs("swift.infer_engine.protocol", "swift.template", "swift.template.template_inputs", "swift.utils")
    sys.modules["swift.dataset"].RowPreprocessor = importlib.import_module("swift.dataset.preprocessor.core").RowPreprocessor
    orm = importlib.import_module("swift.rewards.orm")
    sys.modules["swift.plugin"] = sys.modules["swift.plugin.orm"] = orm
    sys.modules["swift.rewards"].__dict__.update(ORM=orm.ORM, AsyncORM=orm.AsyncORM, orms=orm.orms)


def swift(f, rows, _path):
    """ms-swift, compute_rewards_per_func of its GRPOTrainer, with its own samples."""
    import torch

    module = importlib.import_module("swift.rl_core.grpo_algorithm")
    samples = [module.GRPOSample(messages=native.messages(r), extra=columns(r)) for r in rows]
    made = f(args=None) if "args" in inspect.signature(f.__init__).parameters else f()
    return module.compute_rewards_per_func(samples, [made], None, torch.device("cpu"), types.SimpleNamespace(global_step=0))[:, 0].tolist()


def ready_areal():
    """AReaL's workflow, without its engines and its tracer."""
    if "areal" not in sys.modules:
        same = lambda *_given, **_named: lambda f: f  # noqa: E731
        bare("areal", "areal.api", "areal.utils", "areal.workflow")
        stubs("colorlog", "areal.utils.logging", "areal.utils.stats_tracker", "areal.utils.hf_utils", "areal.api.cli_args", "areal.utils.dynamic_import")
        stubs("areal.utils.perf_tracer", trace_session=same, session_context=same)
        wrapper = importlib.import_module("areal.api.reward_api").AsyncRewardWrapper
        sys.modules["areal.api"].__dict__.update(
            AsyncRewardWrapper=wrapper, InferenceEngine=object, ModelRequest=object, ModelResponse=object, RolloutWorkflow=object
        )
        sys.modules["areal"].workflow_context = None


def areal(f, rows, _path):
    """AReaL, RLVRWorkflow._compute_rewards with its AsyncRewardWrapper, which calls in another process."""
    module = importlib.import_module("areal.workflow.rlvr")

    async def run():
        workflow = types.SimpleNamespace(tokenizer=TOKENS, async_reward_fn=module.AsyncRewardWrapper(f))
        scores = []
        for r in rows:
            tokens = [[*map(ord, text)] for text in (r["prompt"], native.said(r["completion"]))]
            response = types.SimpleNamespace(input_tokens=tokens[0], output_tokens=tokens[1])
            scores.append(await module.RLVRWorkflow._compute_rewards(workflow, response, r["prompt"], columns(r)))
        return scores

    return asyncio.run(run())


CALLERS = {f.__name__: f for f in (trl, verl, verl_batch, verl_prime, openrlhf, verifiers, verifiers_group, swift, areal)}


def ready():
    ready_swift()
    ready_areal()
