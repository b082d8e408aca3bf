"""The CPU's ladder of `scatter`."""
