"""The CPU's ladder of `histogram`."""
