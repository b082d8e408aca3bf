"""Which strategies of `stencil` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("neighbours", "one_barrier", "several_steps", "march", "coarsened", "tile", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""
