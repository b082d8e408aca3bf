"""The ladder of `spmm`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "vectors"),
    "gpu": ("naive", "staged"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("staged", "naive")}
