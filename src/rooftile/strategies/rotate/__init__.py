"""How `rotate` is computed."""
