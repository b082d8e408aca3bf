"""The ladder of `dropout`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "quads"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("quads", "naive")}
"""The fastest first; each says itself which problems it takes."""
