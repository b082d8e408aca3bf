"""The GPU ladder of `conv3d`."""
