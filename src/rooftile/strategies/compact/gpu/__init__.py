"""The GPU ladder of `compact`."""
