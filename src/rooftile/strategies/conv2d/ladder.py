"""The ladder of `conv2d`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": (
        "loops", "threads", "unrolled", "im2col", "im2col_fused", "register_tile", "pointwise",
        "map_vectors", "winograd", "fft", "double",
    ),
    "gpu": (
        "naive", "naive_transposed", "restrict_unroll", "constant", "tile_output", "tile_adjacent",
        "tile_input", "tile_core", "tile_constant", "coarsened", "channels_atomic", "channels_tree",
        "im2col", "im2col_fused", "im2col_register", "row_global", "row_private", "row_local",
        "row_pair", "direct_tile", "direct_bulk", "direct_tile_fp16", "direct_tile_bf16",
        "winograd", "fft", "pointwise_fp16", "pointwise_bf16", "pointwise_tf32", "pointwise_ieee",
        "gathered_gemm_fp16", "gathered_gemm_bf16", "gathered_gemm_tf32", "gathered_gemm_ieee",
        "implicit_gemm_fp16", "implicit_gemm_bf16", "implicit_gemm_tf32", "implicit_gemm_ieee",
        "pool_folded_fp16", "pool_folded_bf16", "pool_folded_tf32", "pool_folded_ieee",
        "pool_folded_wgmma_fp16", "pool_folded_wgmma_bf16", "pool_folded_wgmma_tf32",
        "pool_folded_wgmma_ieee", "direct_tile_argmax", "direct_bulk_argmax",
        "pool_folded_fp16_argmax", "pool_folded_bf16_argmax", "pool_folded_tf32_argmax",
        "pool_folded_tf32_in_fp16_argmax", "pool_folded_ieee_argmax",
        "pool_folded_wgmma_fp16_argmax", "pool_folded_wgmma_bf16_argmax",
        "pool_folded_wgmma_tf32_argmax", "pool_folded_wgmma_ieee_argmax",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": (
        "double", "winograd", "fft", "pointwise", "map_vectors", "register_tile", "unrolled",
        "im2col_fused", "im2col", "threads", "loops",
    ),
    "gpu": (
        "pool_folded_fp16", "pool_folded_wgmma_fp16", "pool_folded_bf16", "pool_folded_wgmma_bf16",
        "pool_folded_wgmma_tf32", "pool_folded_tf32",
        "pointwise_fp16", "pointwise_bf16", "pointwise_tf32", "pointwise_ieee",
        "implicit_gemm_fp16", "implicit_gemm_bf16", "implicit_gemm_tf32", "implicit_gemm_ieee",
        "gathered_gemm_fp16", "gathered_gemm_bf16", "gathered_gemm_tf32",
        "pool_folded_ieee", "pool_folded_wgmma_ieee", "gathered_gemm_ieee",
        "direct_tile_fp16", "direct_tile_bf16", "direct_bulk", "direct_tile",
        "pool_folded_wgmma_fp16_argmax", "pool_folded_fp16_argmax",
        "pool_folded_wgmma_bf16_argmax", "pool_folded_bf16_argmax",
        "pool_folded_tf32_in_fp16_argmax", "pool_folded_wgmma_tf32_argmax",
        "pool_folded_tf32_argmax", "pool_folded_ieee_argmax", "pool_folded_wgmma_ieee_argmax",
        "direct_bulk_argmax", "direct_tile_argmax",
        "im2col_register", "row_local", "coarsened", "tile_output", "naive",
    ),
}  # fmt: skip
