"""The ladder of `rotate`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "in_place"),
    "gpu": ("naive", "in_place"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive",)}
"""The fastest first; `in_place` is for ``out is x``, and taken by name."""
