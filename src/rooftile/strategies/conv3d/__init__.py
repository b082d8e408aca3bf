"""The ladder of `conv3d`."""
