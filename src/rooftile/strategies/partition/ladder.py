"""Which strategies of `partition` are picked without being named."""

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("three_launches",)}
"""The fastest first; each says itself which problems it takes."""
