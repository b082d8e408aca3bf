"""The GPU ladder of `scatter`."""
