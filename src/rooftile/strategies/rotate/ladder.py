"""Which strategies of `rotate` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("naive",)}
"""The fastest first; `in_place` is for ``out is x``, and taken by name."""
