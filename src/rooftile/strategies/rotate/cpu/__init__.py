"""The CPU's ladder of `rotate`."""
