"""The ladder of `scatter`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops",),
    "gpu": ("sequential", "compare_and_swap", "hardware"),
}

PREFERENCE = {"cpu": ("loops",), "gpu": ("hardware", "compare_and_swap")}
