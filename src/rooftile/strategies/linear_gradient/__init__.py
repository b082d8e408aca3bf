"""How `linear_gradient` is computed."""
