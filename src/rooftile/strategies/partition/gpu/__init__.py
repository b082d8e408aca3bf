"""The GPU ladder of `partition`."""
