"""Which strategies of `conv1d` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("coarsened", "constant", "naive"),
}
"""The fastest first; each says itself which problems it takes, and which it pays for."""
