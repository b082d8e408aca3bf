"""The ladder of `pool2d_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "rows"),
    "gpu": ("naive", "cells"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("cells", "naive")}
"""The fastest first; each says itself which problems it takes."""
