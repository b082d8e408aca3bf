"""The ladder of `conv2d`."""
