"""The CPU's ladder of `matvec`."""
