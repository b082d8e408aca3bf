"""The GPU ladder of `unique`."""
