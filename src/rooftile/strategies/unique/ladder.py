"""Which strategies of `unique` are picked without being named."""

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("look_back", "three_launches")}
"""The fastest first; each says itself which problems it takes."""
