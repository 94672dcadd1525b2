"""Recording for classes: of agents that have chat(), and of orchestrators."""

from __future__ import annotations

from typing import Any, ContextManager, Optional

from ._tracer import Tracer


class ChatMixin:
    """For a class whose ``chat`` asks a model, async or not, whole or in chunks.

        class Recorded(ChatMixin, MyAgent, tracer=tracer, agent="solver"): ...

    ``chat`` records itself as a span of kind prompt, the agent's. If the tracer
    is off, the class has the very ``chat`` that it had.
    """

    def __init_subclass__(cls, tracer: Optional[Tracer] = None, agent: str = "", model: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if tracer is None or not tracer.enabled or not hasattr(cls, "chat"):
            return
        cls.chat = tracer.chat(model, skip=1, agent=agent)(cls.chat)


class OrchestratorMixin:
    """For a class that lets agents answer, vote and begin again.

        class Recorded(OrchestratorMixin, MyOrchestrator, tracer=tracer): ...

        with self.recording(task="which city?"):
            self.record_answer("a", "Bonn", round=0)
            self.record_vote("b", "a", round=0)
            self.record_end("a", consensus=True, round=1)

    Without a tracer, or with one that is off, all of it does nothing.
    """

    _tracer: Tracer = Tracer()

    def __init_subclass__(cls, tracer: Optional[Tracer] = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if tracer is not None:
            cls._tracer = tracer

    def recording(self, *, task: str = "", id: str = "", agent: str = "", **metadata: Any) -> ContextManager[str]:
        """The trace of one task."""
        return self._tracer.trace(id, task=task, agent=agent or type(self).__name__, **metadata)

    def record_answer(self, agent: str, text: str, *, round: int = 0) -> None:
        """An agent gave an answer."""
        self._record("answer", agent=agent, text=text, round=round)

    def record_vote(self, agent: str, of: str, *, reason: str = "", round: int = 0) -> None:
        """An agent voted for the answer of another."""
        self._record("vote", agent=agent, of=of, text=reason, round=round)

    def record_restart(self, agent: str, reason: str = "", *, round: int = 0) -> None:
        """An agent asked to begin again."""
        self._record("restart", agent=agent, text=reason, round=round)

    def record_end(self, of: str, *, consensus: bool = False, text: str = "", round: int = 0) -> None:
        """The answer of an agent is final."""
        self._record("end", of=of, consensus=consensus, text=text, round=round)

    def _record(self, event: str, **said: Any) -> None:
        if self._tracer.enabled:
            self._tracer.event(event, **said)
