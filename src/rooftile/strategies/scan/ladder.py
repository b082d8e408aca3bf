"""Which strategies of `scan` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "columns", "two_pass", "loops"),
    "gpu": ("rows", "waves", "look_back", "columns", "sums_first", "sequential"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
