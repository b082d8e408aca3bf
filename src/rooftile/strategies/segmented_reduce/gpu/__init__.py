"""The GPU ladder of `segmented_reduce`."""
