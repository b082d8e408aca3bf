"""Which strategies of `segmented_scan` are picked without being named."""

PREFERENCE = {"cpu": (), "gpu": ("look_back",)}
"""The fastest first, by measurements; each says itself which problems it pays for."""
