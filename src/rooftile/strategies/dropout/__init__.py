"""How `dropout` is computed."""
