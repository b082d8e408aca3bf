"""The CPU's ladder of `most_likely`."""
