"""The CPU's ladder of `conv2d_weights_gradient`."""
