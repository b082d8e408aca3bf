"""The GPU ladder of `conv1d`."""
