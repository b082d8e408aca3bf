"""The GPU ladder of `scan`."""
