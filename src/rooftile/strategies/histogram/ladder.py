"""The ladder of `histogram`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "tables"),
    "gpu": (
        "contiguous", "strided", "aggregated", "replicated", "privatised", "partial", "hot",
        "matched", "lanes",
    ),
}  # fmt: skip
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("lanes", "privatised", "hot", "strided")}
"""The fastest first; each says itself which problems it takes."""
