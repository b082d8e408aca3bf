"""The GPU ladder of `rotate`."""
