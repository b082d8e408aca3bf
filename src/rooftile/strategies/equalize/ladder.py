"""Which strategies of `equalize` are picked without being named."""

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("vectors", "privatised", "naive")}
"""The fastest first; each says itself which problems it takes."""
