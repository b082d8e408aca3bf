"""The ladder of `scatter`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops",),
    "gpu": ("sequential", "compare_and_swap", "hardware"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("loops",), "gpu": ("hardware", "compare_and_swap")}
"""The fastest first; each says itself which problems it takes."""
