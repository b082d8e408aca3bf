"""How `transpose` is computed."""
