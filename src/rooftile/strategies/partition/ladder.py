"""The ladder of `partition`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass"),
    "gpu": ("three_launches",),
}

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("three_launches",)}
