"""The ladder of `equalize`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "tables"),
    "gpu": ("naive", "privatised", "vectors"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("vectors", "privatised", "naive")}
"""The fastest first; each says itself which problems it takes."""
