"""Which strategies of `grayscale` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("vectors", "naive")}
"""The fastest first."""
