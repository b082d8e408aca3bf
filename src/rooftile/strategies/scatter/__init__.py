"""How `scatter` is computed."""
