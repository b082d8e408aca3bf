"""The ladder of `compact`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "two_pass", "vectors"),
    "gpu": ("sequential", "three_launches", "atomic", "aggregated", "look_back", "waves"),
}

PREFERENCE = {
    "cpu": ("vectors", "two_pass", "loops"),
    "gpu": ("waves", "look_back", "three_launches"),
}
