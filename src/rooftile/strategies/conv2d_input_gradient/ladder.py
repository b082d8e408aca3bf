"""Which strategies of `conv2d_input_gradient` are picked without being named."""

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
"""The fastest first; each says itself which problems it takes."""
