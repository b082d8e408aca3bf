"""The CPU's ladder of `box_blur`."""
