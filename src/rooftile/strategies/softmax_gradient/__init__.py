"""How `softmax_gradient` is computed."""
