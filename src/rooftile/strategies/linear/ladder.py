"""The ladder of `linear`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "blas", "blocked", "double"),
    "gpu": (
        "naive", "tiled", "register_tile", "warp_rows", "mma_fp16", "mma_bf16", "mma_tf32",
        "mma_ieee", "warpgroups_fp16", "warpgroups_bf16", "warpgroups_tf32", "warpgroups_ieee",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("double", "blocked", "blas", "threads", "loops"),
    "gpu": (
        "warpgroups_fp16", "mma_fp16", "warpgroups_bf16", "mma_bf16", "warpgroups_tf32", "mma_tf32",
        "warpgroups_ieee", "mma_ieee", "warp_rows", "register_tile", "tiled", "naive",
    ),
}  # fmt: skip
