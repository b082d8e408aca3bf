"""The CPU's ladder of `conv1d`."""
