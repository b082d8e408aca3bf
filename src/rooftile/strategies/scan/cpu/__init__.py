"""The CPU's ladder of `scan`."""
