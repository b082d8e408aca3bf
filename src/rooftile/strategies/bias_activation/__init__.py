"""How `bias_activation` is computed."""
