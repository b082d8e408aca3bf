"""Which strategies of `scatter` are picked without being named."""

PREFERENCE = {"cpu": ("loops",), "gpu": ("hardware", "compare_and_swap")}
"""The fastest first; each says itself which problems it takes."""
