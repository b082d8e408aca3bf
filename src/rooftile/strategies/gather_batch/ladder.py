"""The ladder of `gather_batch`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "staged", "staged_fp16", "staged_bf16"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("staged", "staged_fp16", "staged_bf16", "naive")}
"""The fastest first; each says itself which problems it takes."""
