"""The GPU ladder of `grayscale`."""
