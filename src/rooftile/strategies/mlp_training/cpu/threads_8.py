"""`threads_8`: 8 threads share the loops of each layer.

They wait for each other some twenty times a row, and have a few products each in between.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._shared import SharedLoops


class Threads8(SharedLoops):
    """Takes every problem."""

    name = "threads_8"
    summary = "8 threads share the loops of each layer"
    threads = 8


STRATEGY = Threads8()
