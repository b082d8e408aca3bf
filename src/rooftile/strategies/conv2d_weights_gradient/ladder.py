"""Which strategies of `conv2d_weights_gradient` are picked without being named."""

PREFERENCE = {
    "cpu": ("row_vectors", "nonzeros", "threads", "loops"),
    "gpu": (
        "turned_bf16",
        "turned_fp16",
        "turned_tf32",
        "warpgroups_bf16",
        "warpgroups_fp16",
        "warpgroups_tf32",
        "mma_bf16",
        "mma_fp16",
        "mma_tf32",
        "queued",
        "lane_rows",
        "windows",
        "lane_columns",
        "lane_taps",
        "block_tree",
        "naive",
    ),
}
"""The fastest first; each says itself which problems it takes."""
