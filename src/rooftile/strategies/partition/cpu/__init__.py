"""The CPU's ladder of `partition`."""
