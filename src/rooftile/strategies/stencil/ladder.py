"""The ladder of `stencil`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "tile", "coarsened", "march", "several_steps", "one_barrier", "neighbours"),
}

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("neighbours", "one_barrier", "several_steps", "march", "coarsened", "tile", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""
