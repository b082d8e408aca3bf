"""The ladder of `conv2d_weights_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "nonzeros", "row_vectors"),
    "gpu": (
        "naive", "block_tree", "lane_taps", "lane_rows", "lane_columns", "lane_columns_fp16",
        "lane_columns_bf16", "windows", "queued",
        "mma_fp16", "mma_bf16", "mma_tf32", "turned_fp16", "turned_bf16", "turned_tf32",
        "turned_tf32_in_fp16", "warpgroups_fp16", "warpgroups_bf16", "warpgroups_tf32",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("row_vectors", "nonzeros", "threads", "loops"),
    "gpu": (
        "turned_bf16",
        "turned_fp16",
        "turned_tf32_in_fp16",
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
        "lane_columns_bf16",
        "lane_columns_fp16",
        "lane_columns",
        "lane_taps",
        "block_tree",
        "naive",
    ),
}
