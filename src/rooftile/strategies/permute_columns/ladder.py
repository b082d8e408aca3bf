"""Which strategies of `permute_columns` are picked without being named."""

PREFERENCE = {"cpu": ("threads", "loops"), "gpu": ("rows", "shared_index", "naive")}
"""The fastest first; each says itself which problems it takes."""
