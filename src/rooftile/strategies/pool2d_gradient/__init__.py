"""How `pool2d_gradient` is computed."""
