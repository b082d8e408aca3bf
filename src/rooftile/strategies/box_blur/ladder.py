"""Which strategies of `box_blur` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "running", "threads", "loops"),
    "gpu": ("mma", "packed", "running", "tiled", "naive"),
}
"""The fastest first; each says itself which radii it takes, and which images it pays for."""
