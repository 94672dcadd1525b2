"""The policy: prompts to the service, answers back, updates, checkpoints."""

from __future__ import annotations

import asyncio
import difflib
import json
import math
from typing import Any

from merit_plugin import Decision, Fault, Faults, Policy, Request, Sequence, Setup, Spec, Stats, problem

from .gate import Gate, padded
from .options import Options

SEEDS = 2**31 - 1  # the service's seeds are 31 bits
EARLY = 10.0  # seconds of Configure for weights, which may be refused


class TinkerPolicy(Policy):
    """Weights that a Tinker service holds: a LoRA adapter to be trained, or the base
    unchanged model, if nothing is to be learned and nothing was loaded."""

    def __init__(self, options: Options, setup: Setup):
        super().__init__(options, setup)
        self.base_model, self.context = options.base_model, options.context
        self._published = 0  # version of the sampler's weights
        self._sampler: Any = None  # None = the weights are newer than every sampler
        self._adapter = setup.learn  # whether there are weights of our own
        self._making: asyncio.Task | None = None  # of the sampler
        self._gate = Gate(options.concurrency)
        self._saved: set[tuple[str, str]] = set()

    async def describe(self) -> Spec:
        """Connects, and reports all options that cannot work at once. It does not wait for
        weights if an earlier process holds the slot, because a state that is loaded
        knows how to get the slot back."""
        problems = list(self.options.check_learning()) if self.setup.learn else []
        # The client and the tokenizers take seconds to import.
        from .service import Service

        self._service = Service(self.options, self.setup.seed % SEEDS)
        try:
            problems += self._choose(await self._service.models())
            prompts = await asyncio.to_thread(self._load_prompts)
        except Fault as fault:
            raise Faults([*problems, fault]) from None
        if problems:
            raise Faults(problems)
        self.prompts = prompts
        self._stop = self._stops()
        if self.setup.learn:
            self._making = asyncio.create_task(self._make())
            done, _ = await asyncio.wait({self._making}, timeout=EARLY)
            if done and (refused := self._making.exception()) and not getattr(refused, "retry", True):
                raise refused
        return Spec(learns=True, model=self.base_model, tokenizer=prompts.digest(), context=self.context, imitates=True)

    def _choose(self, offered: list) -> list[Fault]:
        """Determines model and context from what the service offers."""
        names = [m.model_name for m in offered if m.model_name]
        if not self.base_model and len(names) == 1:
            self.base_model = names[0]
        if not self.base_model:
            return [problem("base_model", "is missing", "the service offers " + (", ".join(names[:20]) or "no model"))]
        if names and self.base_model not in names:
            near = difflib.get_close_matches(self.base_model, names, 1)
            return [problem("base_model", f"the service does not offer {self.base_model!r}", f"did you mean {near[0]!r}?" if near else "it offers " + ", ".join(names[:20]))]
        known = next((m.max_context_length for m in offered if m.model_name == self.base_model), None)
        self.context = self.context or known or 0
        return []

    def _load_prompts(self) -> Any:
        from .prompt import Prompts, config, find, load_tokenizer

        name = find(self.options.tokenizer or self.base_model)
        tokenizer, model = load_tokenizer(name), config(name)
        if not self.context:
            known = model.get("max_position_embeddings") or tokenizer.model_max_length
            self.context = known if isinstance(known, int) and known < 1 << 24 else 0
        ends = model.get("eos_token_id")
        ends = [e for e in (ends if isinstance(ends, list) else [ends]) if isinstance(e, int)]
        return Prompts(tokenizer, self.options.chat_template, self.options.prefill, self.setup.tools, ends)

    def _stops(self) -> list:
        """The stop tokens as ids, or all as texts if the user gave texts, because a service
        accepts only one of the two forms."""
        if not self.options.stop:
            return self.prompts.stops
        return [*self.options.stop, *(self.prompts.tokenizer.decode([i]) for i in self.prompts.stops)]

    async def act(self, request: Request) -> Decision:
        if request.answered:
            prompt, tokens = await asyncio.to_thread(self.prompts.answer, request.messages)
            if self.context and len(prompt) + len(tokens) > self.context:
                return Decision(stop="context", info={"prompt_tokens": len(prompt)})
            return Decision(raw=self.prompts.decode(prompt, tokens), prompt=prompt, tokens=tokens, log_probs=[0.0] * len(tokens))
        from tinker import types

        prompt = self.prompts.build(request.messages, request.tokens, request.covered)
        if self.context and len(prompt) + self.options.max_tokens > self.context:
            return Decision(stop="context", version=self._published, info={"prompt_tokens": len(prompt)})
        settings = types.SamplingParams(
            max_tokens=self.options.max_tokens, seed=request.seed % SEEDS, stop=self._stop,
            temperature=0.0 if request.greedy else self.options.temperature, top_p=self.options.top_p, top_k=self.options.top_k or -1,
        )
        async with self._gate.inside(padded(len(prompt)) if self.options.reproducible else 0):
            sampler = await self._newest()
            version = self._published
            asked = asyncio.wrap_future(sampler.sample(prompt=types.ModelInput.from_ints(prompt), num_samples=1, sampling_params=settings))
            answer = await self._service.watched(asked, "sampling")
        return self._decision(prompt, answer, version)

    def _decision(self, prompt: list[int], answer: Any, version: int) -> Decision:
        if len(answer.sequences) != 1:
            raise self._nonsense(f"{len(answer.sequences)} answers to one request")
        said = answer.sequences[0]
        tokens, probabilities = list(said.tokens), said.logprobs
        if probabilities is None or len(probabilities) != len(tokens) or not tokens:
            raise self._nonsense(f"{len(probabilities or [])} log-probabilities for {len(tokens)} tokens")
        if not all(math.isfinite(p) and p < 1e-3 for p in probabilities):
            raise self._nonsense("a log-probability that is not a number below 0", "numeric")
        if not all(0 <= t < self.prompts.vocabulary for t in tokens):
            raise self._nonsense(f"a token that the tokenizer does not have: it has {self.prompts.vocabulary}; set options.tokenizer to the model's own")
        probabilities = [min(p, 0.0) for p in probabilities]
        text = self.prompts.decode(prompt, tokens)
        for stop in self.options.stop:
            text = text.partition(stop)[0]
        return Decision(
            raw=self.options.prefill + text, prompt=prompt, tokens=tokens, log_probs=probabilities, log_prob=math.fsum(probabilities),
            version=version, info={"finish": str(getattr(said.stop_reason, "value", said.stop_reason))},
        )

    def _nonsense(self, what: str, kind: str = "protocol") -> Fault:
        hint = "use a lower learning rate" if kind == "numeric" else "use a service that the client tinker 0.25 can speak to, such as SkyRL 0.4"
        return Fault(f"the service answered {what}", boundary="learner", kind=kind, where=self.options.url, hint=hint)

    async def _newest(self) -> Any:
        """The sampler of the newest weights. There is never another one, because sampling
        from older weights makes SkyRL train on those. A canceled request does not cancel
        what the others wait for."""
        if self._sampler is None:
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._make())
            await asyncio.shield(self._making)
        return self._sampler

    async def _make(self) -> None:
        if self._adapter and not self._service.held:
            await self._service.renew(self.base_model)
        self._sampler = await self._service.sampler("" if self._adapter else self.base_model)
        self._published = self.version

    async def learn(self, sequences: list[Sequence], seed: int) -> Stats:
        from . import update

        items = update.items(sequences)
        await self._newest()  # a learner that has never acted has no weights yet
        self._loss = update.Loss.of(self.options, sequences)
        measure, rate, self._touched = update.Measure(self._loss), self.options.rate(self.version, self.setup.updates), False
        try:
            for n, batch in enumerate(update.minibatches(items, self.options, seed)):
                self._sampler = None
                await self._step(update, batch, measure, rate, n == 0)
        except Exception as e:
            if not self._touched:
                raise
            fault = e if isinstance(e, Fault) else Fault(f"the update failed: {type(e).__name__}: {e}", boundary="learner", kind="internal")
            fault.retry = True  # gradients wait in the service, or some steps were made
            self._service.lose(fault)
            raise fault from e
        self.version += 1
        return measure.stats(items, rate)

    async def _step(self, update: Any, batch: list, measure: Any, rate: float, first: bool) -> None:
        """One optimizer step. Each request is sent when the previous one is done. Sent
        together, they would be padded to each other's lengths, and the same update
        would not always give the same numbers."""
        from tinker import types

        training, o, outputs = self._service.training, self.options, []
        for data in update.requests(batch, o):
            work = training.forward_backward(data, self._loss.name, self._loss.clips())
            answer = (await self._service.watched(work.result_async(), "computing gradients")).loss_fn_outputs
            self._touched = True
            if len(answer) != len(data):
                raise self._nonsense(f"{len(answer)} results for {len(data)} sequences")
            outputs += answer
        for item, output in zip(batch, outputs):
            measure.add(item, output, first)
        adam = types.AdamParams(learning_rate=rate, beta1=o.beta1, beta2=o.beta2, eps=o.eps, weight_decay=o.weight_decay)
        done = await self._service.watched(training.optim_step(adam).result_async(), "making a step")
        measure.step(done.metrics)

    async def publish(self) -> None:
        await self._newest()
        self._published = self.version

    async def save(self, name: str) -> bytes:
        await self._newest()
        held = self._service.held
        # Never overwrite: a state that is saved again under a name has a different history.
        free = next(n for n in (name, *(f"{name}-{i}" for i in range(2, 1 << 20))) if (held, n) not in self._saved)
        self._saved.add((held, free))
        done = await self._service.watched(self._service.training.save_state(free).result_async(), f"saving {free}")
        return json.dumps({**self._origin(), "path": done.path, "model": held, "updates": self.version}, sort_keys=True).encode()

    async def load(self, state: bytes) -> None:
        saved = self._read(state) if state else {"path": "", "model": "", "updates": 0}
        if self._making:
            self._making.cancel()
            await asyncio.wait({self._making})
        self._sampler, self._adapter = None, bool(state) or self.setup.learn
        if self._adapter:
            # A run has one trainer, so what its earlier process held can be freed. An
            # evaluation may run at the same time as the training, and frees nothing.
            await self._service.renew(self.base_model, saved["path"], saved["model"] if self.setup.learn else "")
        self.version = saved["updates"]
        await self._newest()

    def _origin(self) -> dict:
        return {"format": 1, "base_model": self.base_model, "lora_rank": self.options.lora_rank}

    def _read(self, state: bytes) -> dict:
        try:
            saved = json.loads(state)
            types = (isinstance(saved["path"], str), isinstance(saved["model"], str), type(saved["updates"]) is int, saved["path"].startswith("tinker://"))
        except (ValueError, KeyError, TypeError, AttributeError):
            types = (False,)
        if not all(types):
            raise Fault("the state was not saved by this plug-in", boundary="storage", kind="corrupt", hint="resume from another checkpoint")
        for key, value in self._origin().items():
            if saved.get(key) != value:
                raise Fault(
                    f"the state was saved with {key} {saved.get(key)!r}, not {value!r}", boundary="config", kind="invalid",
                    where=f"options.{key}", hint="resume with the options of the run",
                )
        return saved

    async def close(self) -> None:
        if service := getattr(self, "_service", None):
            await service.close()
