"""The ladder of `box_blur`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "running", "vectors"),
    "gpu": ("naive", "tiled", "running", "packed", "mma"),
}

PREFERENCE = {
    "cpu": ("vectors", "running", "threads", "loops"),
    "gpu": ("mma", "packed", "running", "tiled", "naive"),
}
"""The fastest first; each says itself which radii it takes, and which images it pays for."""
