"""The CPU's ladder of `conv3d`."""
