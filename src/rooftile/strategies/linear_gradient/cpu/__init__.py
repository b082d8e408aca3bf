"""The CPU's ladder of `linear_gradient`."""
