"""How `conv2d_input_gradient` is computed."""
