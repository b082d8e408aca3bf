"""The ladder of `pool2d`."""
