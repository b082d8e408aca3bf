"""The ladder of `histogram`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "tables"),
    "gpu": (
        "contiguous", "strided", "aggregated", "replicated", "privatised", "partial", "hot",
        "matched", "lanes",
    ),
}  # fmt: skip

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("lanes", "privatised", "hot", "strided")}
