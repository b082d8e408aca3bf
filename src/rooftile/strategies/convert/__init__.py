"""How `convert` is computed."""
