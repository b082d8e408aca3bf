"""Which strategies of `segmented_scan` are picked without being named."""

PREFERENCE = {"cpu": ("parts", "loops"), "gpu": ("waves", "look_back", "flagged", "sequential")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
