"""How `activation_gradient` is computed."""
