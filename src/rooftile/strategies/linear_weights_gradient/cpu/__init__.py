"""The CPU's ladder of `linear_weights_gradient`."""
