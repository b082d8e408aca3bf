"""The GPU ladder of `histogram`."""
