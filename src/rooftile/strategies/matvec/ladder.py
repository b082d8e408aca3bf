"""Which strategies of `matvec` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "loops"),
    "gpu": ("warp_rows", "strips", "shared_x", "row_threads"),
}
"""The fastest first; each says itself which problems it pays for."""
