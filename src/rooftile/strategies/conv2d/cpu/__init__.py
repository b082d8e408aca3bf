"""The CPU's ladder of `conv2d`."""
