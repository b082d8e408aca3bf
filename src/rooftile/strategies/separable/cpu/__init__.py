"""The CPU's ladder of `separable`."""
