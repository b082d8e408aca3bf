"""Which strategies of `matmul` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "blocked", "blas", "orders", "loops"),
    "gpu": ("register_tile", "tiled_any", "naive"),
}
"""The fastest first, by measurements; each says itself which problems it pays for."""
