"""How `conv2d_weights_gradient` is computed."""
