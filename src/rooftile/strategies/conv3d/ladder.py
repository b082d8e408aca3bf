"""Which strategies of `conv3d` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "threads", "loops"),
    "gpu": ("march", "coarsened", "prism", "constant", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""
