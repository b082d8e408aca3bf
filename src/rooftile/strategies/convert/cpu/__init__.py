"""The CPU's ladder of `convert`."""
