"""The ladder of `elementwise`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "adjacent", "block_strided", "grid_stride", "vectors"),
}

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("vectors", "grid_stride", "block_strided", "naive"),
}
"""The fastest first; `adjacent` is there for its contrast, and taken by name."""
