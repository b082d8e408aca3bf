"""How `softmax_cross_entropy` is computed."""
