"""The ladder of `sort`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "radix", "buckets", "halves"),
    "gpu": ("odd_even", "bitonic", "merge", "radix", "onesweep"),
}

PREFERENCE = {
    "cpu": ("buckets", "radix", "halves", "loops"),
    "gpu": ("onesweep", "radix", "merge"),
}
