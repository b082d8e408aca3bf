"""Which strategies of `separable` are picked without being named."""

PREFERENCE = {"cpu": ("vectors", "loops"), "gpu": ("coarsened", "shared", "naive")}
"""The fastest first; each says itself which problems it takes, and which it pays for."""
