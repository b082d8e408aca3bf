"""How `linear_cross_entropy` is computed."""
