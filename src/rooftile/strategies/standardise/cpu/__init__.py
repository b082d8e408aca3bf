"""The CPU's ladder of `standardise`."""
