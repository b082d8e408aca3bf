"""The ladder of `unique`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass"),
    "gpu": ("three_launches", "look_back"),
}

PREFERENCE = {"cpu": ("two_pass", "loops"), "gpu": ("look_back", "three_launches")}
