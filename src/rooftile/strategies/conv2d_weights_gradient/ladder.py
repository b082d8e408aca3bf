"""Which strategies of `conv2d_weights_gradient` are picked without being named."""

PREFERENCE = {
    "cpu": ("nonzeros", "threads", "loops"),
    "gpu": ("lane_rows", "windows", "lane_taps", "block_tree", "naive"),
}
"""The fastest first; each says itself which problems it takes."""
