"""The CPU's ladder of `transpose`."""
