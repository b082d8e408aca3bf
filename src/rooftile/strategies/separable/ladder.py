"""The ladder of `separable`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "vectors", "double"),
    "gpu": ("naive", "shared", "coarsened"),
}

PREFERENCE = {"cpu": ("double", "vectors", "loops"), "gpu": ("coarsened", "shared", "naive")}
"""The fastest first; each says itself which problems it takes, and which it pays for."""
