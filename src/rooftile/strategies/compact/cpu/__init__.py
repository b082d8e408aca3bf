"""The CPU's ladder of `compact`."""
