"""`threads_4`: 4 threads share the loops of each layer.

They wait for each other some twenty times a row, and have a few products each in between.
"""

from __future__ import annotations

from rooftile.strategies.mlp_training.cpu._shared import SharedLoops


class Threads4(SharedLoops):
    """Takes every problem."""

    name = "threads_4"
    summary = "4 threads share the loops of each layer"
    threads = 4


STRATEGY = Threads4()
