"""The ladder of `matmul`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "orders", "blas", "vectors", "blocked", "double"),
    "gpu": (
        "naive", "naive_transposed", "tiled", "tiled_any", "corner_turned", "rectangular", "strips",
        "coarsened", "two_by_two", "register_tile", "few_rows", "few_rows_fp16", "few_rows_bf16",
        "warps_terms", "mma_fp16", "mma_bf16", "mma_tf32", "mma_ieee", "own_terms_fp16",
        "own_terms_bf16", "own_terms_tf32", "own_terms_ieee", "warpgroups_fp16", "warpgroups_bf16",
        "warpgroups_tf32", "warpgroups_ieee", "turned_ieee", "streamed_ieee", "bulk_fp16",
        "bulk_bf16", "bulk_tf32", "bulk_ieee",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("double", "vectors", "blocked", "blas", "orders", "loops"),
    "gpu": (
        "few_rows_fp16", "few_rows_bf16", "own_terms_tf32", "bulk_tf32", "few_rows",
        "own_terms_fp16", "bulk_fp16", "warpgroups_fp16", "mma_fp16",
        "own_terms_bf16", "bulk_bf16", "warpgroups_bf16", "mma_bf16",
        "warpgroups_tf32", "mma_tf32",
        "own_terms_ieee", "warps_terms", "bulk_ieee", "streamed_ieee", "turned_ieee",
        "warpgroups_ieee", "mma_ieee",
        "register_tile", "tiled_any", "naive",
    ),
}  # fmt: skip
"""The fastest first; each says itself which problems it pays for."""
