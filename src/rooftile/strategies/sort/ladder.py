"""The ladder of `sort`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "radix", "buckets", "halves"),
    "gpu": ("odd_even", "bitonic", "merge", "radix", "onesweep"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {
    "cpu": ("buckets", "radix", "halves", "loops"),
    "gpu": ("onesweep", "radix", "merge"),
}
"""The fastest first; each says itself which problems it takes."""
