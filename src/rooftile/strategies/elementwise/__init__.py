"""How `elementwise` is computed."""
