"""The CPU's ladder of `dropout`."""
