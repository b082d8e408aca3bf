"""The ladder of `conv3d`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors", "double"),
    "gpu": ("naive", "constant", "cube", "prism", "coarsened", "march"),
}

PREFERENCE = {
    "cpu": ("double", "vectors", "threads", "loops"),
    "gpu": ("march", "coarsened", "prism", "constant", "naive"),
}
"""The fastest first; the CPU's by measurements, the GPU's by what each moves and multiplies."""
