"""The ladder of `argreduce`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "vectors"),
    "gpu": ("naive", "tree", "vectors", "columns"),
}

PREFERENCE = {
    "cpu": ("vectors", "loops"),
    "gpu": ("vectors", "columns", "tree", "naive"),
}
