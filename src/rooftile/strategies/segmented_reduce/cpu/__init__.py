"""The CPU's ladder of `segmented_reduce`."""
