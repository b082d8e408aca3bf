"""How `linear_weights_gradient` is computed."""
