"""The GPU ladder of `box_blur`."""
