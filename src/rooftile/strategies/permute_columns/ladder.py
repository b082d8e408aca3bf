"""The ladder of `permute_columns`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads"),
    "gpu": ("naive", "shared_index", "rows"),
}

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("rows", "shared_index", "naive")}
