"""The ladder of `pool2d_gradient`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "rows"),
    "gpu": ("naive", "cells"),
}

PREFERENCE = {"cpu": ("rows", "threads", "loops"), "gpu": ("cells", "naive")}
