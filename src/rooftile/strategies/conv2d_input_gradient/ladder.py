"""The ladder of `conv2d_input_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "nonzeros"),
    "gpu": (
        "naive", "gathered", "swept", "mma_fp16", "mma_bf16", "mma_tf32", "warpgroups_fp16",
        "warpgroups_bf16", "warpgroups_tf32", "warpgroups_ieee",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("nonzeros", "threads", "loops"),
    "gpu": (
        "warpgroups_bf16",
        "warpgroups_fp16",
        "warpgroups_tf32",
        "warpgroups_ieee",
        "mma_fp16",
        "mma_bf16",
        "swept",
        "mma_tf32",
        "gathered",
        "naive",
    ),
}
