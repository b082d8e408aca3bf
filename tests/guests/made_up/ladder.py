"""The ladder of `made_up`, and which strategies are picked unnamed, the fastest first."""

LADDER = {"cpu": ("loops",), "gpu": ("rows",)}

PREFERENCE = {"cpu": ("loops",), "gpu": ("rows",)}
