"""The GPU ladder of `reduce`."""
