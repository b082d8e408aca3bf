"""The CPU's ladder of `softmax_gradient`."""
