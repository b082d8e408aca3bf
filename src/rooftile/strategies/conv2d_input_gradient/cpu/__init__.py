"""The CPU's ladder of `conv2d_input_gradient`."""
