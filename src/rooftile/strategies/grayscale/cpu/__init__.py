"""The CPU's ladder of `grayscale`."""
