"""Which strategies of `compact` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "two_pass", "loops"),
    "gpu": ("waves", "look_back", "three_launches"),
}
"""The fastest first; each says itself which problems it takes."""
