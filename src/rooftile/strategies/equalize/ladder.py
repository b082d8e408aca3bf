"""The ladder of `equalize`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "tables"),
    "gpu": ("naive", "privatised", "vectors"),
}

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("vectors", "privatised", "naive")}
