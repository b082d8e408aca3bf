"""Which strategies of `conv2d` are picked without being named."""

PREFERENCE = {
    "cpu": (
        "winograd", "fft", "pointwise", "map_vectors", "register_tile", "unrolled", "im2col_fused",
        "im2col", "threads", "loops",
    ),
    "gpu": (
        "pool_folded_wgmma_fp16", "pool_folded_fp16", "pool_folded_wgmma_bf16", "pool_folded_bf16",
        "pool_folded_wgmma_tf32", "pool_folded_tf32",
        "pointwise_fp16", "pointwise_bf16", "pointwise_tf32", "pointwise_ieee",
        "implicit_gemm_fp16", "implicit_gemm_bf16", "implicit_gemm_tf32", "implicit_gemm_ieee",
        "gathered_gemm_fp16", "gathered_gemm_bf16", "gathered_gemm_tf32",
        "pool_folded_ieee", "pool_folded_wgmma_ieee", "gathered_gemm_ieee",
        "direct_tile_fp16", "direct_tile_bf16", "direct_bulk", "direct_tile",
        "im2col_register", "row_local", "coarsened", "tile_output", "naive",
    ),
}  # fmt: skip
"""The fastest first, by measurements; each says itself which problems it pays for."""
