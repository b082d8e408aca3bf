"""The CPU's ladder of `unique`."""
