"""The CPU's ladder of `reduce`."""
