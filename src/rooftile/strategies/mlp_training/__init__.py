"""How `mlp_training` is computed."""
