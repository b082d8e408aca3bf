"""The CPU's ladder of `equalize`."""
