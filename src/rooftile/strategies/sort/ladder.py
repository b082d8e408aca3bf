"""Which strategies of `sort` are picked without being named."""

PREFERENCE = {"cpu": ("buckets", "radix", "loops"), "gpu": ("onesweep", "radix", "merge")}
"""The fastest first; each says itself which problems it takes."""
