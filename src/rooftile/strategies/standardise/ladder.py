"""The ladder of `standardise`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "shared_tables"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("shared_tables", "naive")}
"""The fastest first; each says itself which problems it takes."""
