"""The CPU's ladder of `linear`."""
