"""The GPU ladder of `transpose`."""
