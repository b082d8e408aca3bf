"""How `loss_gradient` is computed."""
