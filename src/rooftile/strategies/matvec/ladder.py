"""The ladder of `matvec`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "vectors", "double"),
    "gpu": ("row_threads", "column_threads", "two_dimensional", "shared_x", "warp_rows", "strips"),
}

PREFERENCE = {
    "cpu": ("double", "vectors", "loops"),
    "gpu": ("warp_rows", "strips", "shared_x", "row_threads"),
}
"""The fastest first; each says itself which problems it pays for."""
