"""Which strategies of `elementwise` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("vectors", "grid_stride", "block_strided", "naive"),
}
"""The fastest first; `adjacent` is there for its contrast, and taken by name."""
