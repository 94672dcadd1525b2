"""Write a plug-in of Merit as one class: see sdk/python/README.md.

    import merit_plugin

    class Parrot(merit_plugin.Policy):
        async def act(self, request):
            return merit_plugin.Decision(raw=request.text)

    merit_plugin.serve(Parrot, name="parrot", version="1.0.0", summary="Says it again.")

An Environment is one slot of an environment, a Vector is all of them with numpy;
merit_plugin.gymnasium wraps what already exists.

Import it before anything that prints: from then on, what the process prints goes
to Merit's log, and standard output belongs to the handshake.
"""

from ._process import serve
from .environment import SPLITS, TEST, TRAIN, VALIDATION, Environment, Vector
from .fault import Fault, Faults, problem
from .policy import Decision, Policy, Request, Sequence, Setup, Spec, Stats
from .turn import Features, Turn

__all__ = [
    "SPLITS", "TEST", "TRAIN", "VALIDATION",
    "Decision", "Environment", "Fault", "Faults", "Features", "Policy", "Request", "Sequence", "Setup", "Spec", "Stats", "Turn", "Vector",
    "problem", "serve",
]
