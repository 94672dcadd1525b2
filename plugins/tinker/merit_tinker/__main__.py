"""The plug-in's process: python -m merit_tinker."""

import merit_plugin  # first: from here on, standard output is the handshake's

from merit_tinker.options import Options
from merit_tinker.policy import TinkerPolicy

merit_plugin.serve(
    TinkerPolicy, name="tinker", version="0.1.0", options=Options,
    summary="Samples from and trains a language model on any Tinker service.",
)
